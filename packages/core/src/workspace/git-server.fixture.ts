import { spawn, execFileSync } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

/** A server of the repositories in a folder, by git's own CGI, behind a password. */
export interface GitServer extends AsyncDisposable {
  readonly url: string
  /** `Authorization` of every request, or `none`. */
  readonly authorizations: readonly string[]
}

export async function startGitServer(folder: string, user: string, password: string): Promise<GitServer> {
  const backend = join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-http-backend')
  const expected = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
  const authorizations: string[] = []
  const server = createServer((request, response) => {
    authorizations.push(request.headers.authorization ?? 'none')
    if (request.headers.authorization !== expected) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="test"' }).end()
      return
    }
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://x')
    const cgi = spawn(backend, {
      env: {
        GIT_PROJECT_ROOT: folder,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: pathname,
        QUERY_STRING: searchParams.toString(),
        REQUEST_METHOD: request.method ?? 'GET',
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
        PATH: process.env['PATH'],
        HOME: folder,
      },
    })
    request.pipe(cgi.stdin)
    const chunks: Buffer[] = []
    cgi.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    cgi.on('close', () => {
      const output = Buffer.concat(chunks)
      const end = output.indexOf('\r\n\r\n')
      const headers = output.subarray(0, end).toString('latin1').split('\r\n')
      const pairs = headers.map((line) => line.split(/:\s*/, 2) as [string, string])
      const status = Number(pairs.find(([name]) => name === 'Status')?.[1].slice(0, 3) ?? 200)
      response.writeHead(status, Object.fromEntries(pairs.filter(([name]) => name !== 'Status')))
      response.end(output.subarray(end + 4))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    authorizations,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
