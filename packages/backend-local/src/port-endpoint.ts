import { connect, createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { SandboxError } from '@cofferdam/core/plugin'
import type { PortEndpoint } from '@cofferdam/core/plugin'

/** A listener on a port of the system's choice, each of whose connections is led to `port` on loopback. */
export async function openEndpoint(port: number): Promise<PortEndpoint> {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    const reason = 'it is no whole number from 1 to 65535'
    throw new SandboxError('invalid_argument', `The port cannot be used: ${reason}.`, { argument: 'port', reason })
  }
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => sockets.delete(one))
      one.pipe(other)
    }
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const listening = (server.address() as AddressInfo).port
  return {
    host: '127.0.0.1',
    port: listening,
    url: `http://127.0.0.1:${listening}`,
    [Symbol.asyncDispose]: () => close(server, sockets),
  }
}

async function close(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  for (const socket of sockets) socket.destroy()
  if (!server.listening) return
  await new Promise<void>((resolve) => server.close(() => resolve()))
}
