# The profile of login shells in a session. It keeps the PATH of the session.
PATH=${PATH:-/usr/local/bin:/usr/bin:/bin}
export PATH

if [ "${PS1-}" ]; then
  if [ "${BASH-}" ] && [ "$BASH" != "/bin/sh" ]; then
    if [ -f /etc/bash.bashrc ]; then
      . /etc/bash.bashrc
    fi
  else
    PS1='$ '
  fi
fi
