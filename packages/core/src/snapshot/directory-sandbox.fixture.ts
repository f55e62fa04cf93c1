import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { SandboxFiles } from '../contracts/files.js'
import type { Sandbox } from '../contracts/sandbox.js'
import { createHostFiles } from '../host-files/host-files.js'

/** What a snapshot engine sees of a sandbox: the files and the two paths of a directory of this host. */
export async function openDirectorySandbox(
  folder: string,
  change: (files: SandboxFiles) => SandboxFiles = (files) => files,
): Promise<Sandbox> {
  const paths = { workspace: join(folder, 'workspace'), control: join(folder, 'control') }
  for (const path of Object.values(paths)) await mkdir(path, { recursive: true })
  const files = createHostFiles({ roots: [{ path: folder, readOnly: false }] })
  return { paths, files: change(files) } as unknown as Sandbox
}
