# The beginning of a login shell in a Headwater terminal: what a login shell reads, then what tells of prompts, commands and
# the folder, in marks (OSC 133, OSC 633) that carry this terminal's secret. This file removes itself.
command rm -f -- "${BASH_SOURCE[0]}"

# The profile of a host may set another PATH: the session's folders stay first, and those that it adds follow.
__hw_keep_path() {
  local folder rest=$PATH:
  PATH=$1
  while [ -n "$rest" ]; do
    folder=${rest%%:*}
    rest=${rest#*:}
    case :$PATH: in
      *:"$folder":*) ;;
      *) PATH=$PATH:$folder ;;
    esac
  done
}

__hw_profiles() {
  local file path=$PATH
  if [ -r /etc/profile ]; then
    . /etc/profile
    __hw_keep_path "$path"
  fi
  for file in ~/.bash_profile ~/.bash_login ~/.profile; do
    if [ -r "$file" ]; then
      . "$file"
      return
    fi
  done
  [ -r ~/.bashrc ] && . ~/.bashrc
}
__hw_profiles
unset -f __hw_profiles __hw_keep_path

__hw_secret=@SECRET@
__hw_ran=
__hw_code=0
__hw_recorded=
shopt -s histappend checkwinsize
[ "$PS1" = '\s-\v\$ ' ] && PS1='\[\e[1;34m\]\w\[\e[0m\]\$ '

# Escapes what a mark cannot hold.
__hw_escape() {
  REPLY=${1//\\/\\\\}
  REPLY=${REPLY//;/\\x3b}
  REPLY=${REPLY//$'\n'/\\x0a}
  REPLY=${REPLY//$'\e'/\\x1b}
  REPLY=${REPLY//$'\a'/\\x07}
}

# Before anything else that runs at a prompt: the exit code of the command.
__hw_before() {
  __hw_code=$?
  return "$__hw_code"
}

# After everything else that runs at a prompt.
__hw_after() {
  local REPLY history_line HISTTIMEFORMAT=
  if [ -n "$__hw_ran" ]; then
    printf '\e]133;D;%s;hw=%s\a' "$__hw_code" "$__hw_secret"
    __hw_ran=
    history -a
  fi
  if [ "$PWD" != "${__hw_folder-}" ]; then
    __hw_folder=$PWD
    __hw_escape "$PWD"
    printf '\e]633;P;Cwd=%s;hw=%s\a\e]7;file://%s%s\a' "$REPLY" "$__hw_secret" "${HOSTNAME-}" "${REPLY// /%20}"
  fi
  history_line=$(builtin history 1)
  __hw_recorded=${history_line%%[^ 0-9]*}
  printf '\e]133;A;hw=%s\a' "$__hw_secret"
}

# When a command is about to run, in a shell of its own: the line, if it was recorded, and that it runs.
__hw_command() {
  local REPLY line HISTTIMEFORMAT=
  line=$(builtin history 1)
  if [ "${line%%[^ 0-9]*}" != "$__hw_recorded" ]; then
    line=${line#"${line%%[^ ]*}"}
    line=${line#*[0-9]  }
    __hw_escape "${line:0:2000}"
    printf '\e]633;E;%s;hw=%s\a' "$REPLY" "$__hw_secret"
  fi
  printf '\e]133;C;hw=%s\a' "$__hw_secret"
}

PS0='${__hw_secret:$((__hw_ran=1,0)):0}$(__hw_command)'"${PS0-}"
PROMPT_COMMAND=(__hw_before "${PROMPT_COMMAND[@]}" __hw_after)
