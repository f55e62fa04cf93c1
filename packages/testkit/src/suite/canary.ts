import type { Sandbox } from '@cofferdam/core/plugin'
import type { BackendContext } from './backend-context.js'

/** A directory that the sandbox's commands reach and its files must not: what is in it must never change. */
export interface Canary {
  readonly path: string
  /** Contents, inodes, links and modes in one text. */
  fingerprint(): Promise<string>
}

/** Puts it beside the workspace, by a command. */
export async function placeCanary(context: BackendContext, sandbox: Sandbox): Promise<Canary> {
  const path = `/tmp/cofferdam-canary-${context.nonce}`
  const make = `mkdir -p ${path}/dir && echo secret-${context.nonce} > ${path}/secret && echo deep > ${path}/dir/file`
  await context.output(sandbox, make)
  const look = `ls -laiR ${path} && sha256sum ${path}/secret ${path}/dir/file`
  context.defer(async () => {
    const again = await sandbox.start({ fence: 1n }).then(
      () => true,
      () => false,
    )
    if (again) await context.output(sandbox, `rm -rf ${path}`)
  })
  // The line of `..` belongs to /tmp, which others change.
  return { path, fingerprint: async () => (await context.output(sandbox, look)).replace(/^.* \.\.$/gm, '') }
}
