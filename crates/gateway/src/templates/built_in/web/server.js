const { createServer } = require("node:http");
const { readFileSync } = require("node:fs");

const port = 3000;

createServer((request, response) => {
  console.log(request.method, request.url);
  response.setHeader("content-type", "text/html; charset=utf-8");
  response.end(readFileSync("index.html"));
}).listen(port, () => console.log(`listening on port ${port}`));
