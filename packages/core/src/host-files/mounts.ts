import { readFileSync } from 'node:fs'
import { fromNativePath } from './native-path.js'
import { isWithin } from './roots.js'

/**
 * Real paths of the mount points beneath a directory, in this process's mount namespace; its own is not among them. Files
 * can be mount points too. Elsewhere than on Linux there is no such list: only a change of device shows a mount.
 */
export function mountPointsBeneath(real: string): ReadonlySet<string> {
  const found = new Set<string>()
  for (const line of mountInfo().split('\n')) {
    // proc(5): the fifth field is the mount point, with blanks, newlines and backslashes in octal.
    const field = line.split(' ')[4]
    if (field === undefined) continue
    const path = fromNativePath(
      Buffer.from(
        field.replace(/\\([0-7]{3})/g, (_all, octal: string) => String.fromCharCode(parseInt(octal, 8))),
        'latin1',
      ),
    )
    if (path !== real && isWithin(path, real)) found.add(path)
  }
  return found
}

function mountInfo(): string {
  if (process.platform !== 'linux') return ''
  return readFileSync('/proc/self/mountinfo', 'latin1')
}
