"""A terminal in a page by terminado, the server behind Jupyter's terminals, for comparison: `terminal.peer.py XTERM_FOLDER`.

Used where ttyd is not installed. The page has the same emulator as ours; only the server and the way to it differ.
"""

import sys

import terminado
import tornado.ioloop
import tornado.netutil
import tornado.web
import tornado.httpserver

PAGE = """<!doctype html><link rel="stylesheet" href="/xterm/css/xterm.css"><div id="t" style="height:90vh"></div>
<script src="/xterm/lib/xterm.js"></script><script>
const term = new Terminal({ rows: 40, cols: 120 }); term.open(document.getElementById('t')); term.focus();
const socket = new WebSocket(`ws://${location.host}/ws/main`);
socket.onopen = () => socket.send(JSON.stringify(['set_size', 40, 120, 600, 900]));
socket.onmessage = ({ data }) => { const [kind, text] = JSON.parse(data); if (kind === 'stdout') term.write(text); };
term.onData((keys) => socket.send(JSON.stringify(['stdin', keys])));
</script>"""


class Page(tornado.web.RequestHandler):
    def get(self) -> None:
        self.write(PAGE)


def main() -> None:
    terminals = terminado.NamedTermManager(shell_command=["bash", "--norc"], max_terminals=4)
    app = tornado.web.Application(
        [
            (r"/ws/(\w+)", terminado.TermSocket, {"term_manager": terminals}),
            (r"/xterm/(.*)", tornado.web.StaticFileHandler, {"path": sys.argv[1]}),
            (r"/", Page),
        ]
    )
    sockets = tornado.netutil.bind_sockets(0, "127.0.0.1")
    tornado.httpserver.HTTPServer(app).add_sockets(sockets)
    print(f"http://127.0.0.1:{sockets[0].getsockname()[1]}/", flush=True)
    tornado.ioloop.IOLoop.current().start()


if __name__ == "__main__":
    main()
