import type { Sandbox } from '../contracts/sandbox.js'
import { isSandboxError } from '../errors/sandbox-error.js'

const MAX_MARKER_BYTES = 1_024

/** Proves that a workspace was brought to its end: written last, named after the filling. */
export interface ReadyMarker {
  readonly sessionId: string
  readonly incarnation: string
}

/** False for a missing, damaged or foreign marker. Throws when it cannot be read at all. */
export async function hasMarker(sandbox: Sandbox, marker: ReadyMarker): Promise<boolean> {
  const path = markerPath(sandbox)
  const stat = await sandbox.files.stat(path)
  if (stat === undefined || stat.type !== 'file' || stat.sizeBytes > MAX_MARKER_BYTES) return false
  try {
    const text = await new Response(await sandbox.files.read(path)).text()
    return text === markerText(marker)
  } catch (error) {
    if (isSandboxError(error, 'not_found')) return false
    throw error
  }
}

export async function writeMarker(sandbox: Sandbox, marker: ReadyMarker): Promise<void> {
  await sandbox.files.write(markerPath(sandbox), new TextEncoder().encode(markerText(marker)), { mode: 0o600 })
}

export async function removeMarker(sandbox: Sandbox): Promise<void> {
  try {
    await sandbox.files.remove(markerPath(sandbox))
  } catch (error) {
    if (!isSandboxError(error, 'not_found')) throw error
  }
}

function markerPath(sandbox: Sandbox): string {
  return `${sandbox.paths.control}/ready`
}

function markerText(marker: ReadyMarker): string {
  return `${marker.sessionId}\n${marker.incarnation}\n`
}
