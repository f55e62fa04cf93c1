import { watch } from 'node:fs'
import { aborted } from '../check-argument.js'

export interface FolderChangeOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /** Called once the folder is watched: whether there is nothing to wait for. */
  readonly look: () => Promise<boolean>
}

/** Resolves when something happens in a folder or the time is over; early rather than late. Rejects with `aborted`. */
export async function folderChange(folder: string, { timeoutMs, signal, look }: FolderChangeOptions): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const close = watchQuietly(folder, () => finish())
    const timer = setTimeout(() => finish(), timeoutMs)
    const onAbort = (): void => finish(signal)
    const finish = (by?: AbortSignal): void => {
      clearTimeout(timer)
      close()
      signal?.removeEventListener('abort', onAbort)
      if (by === undefined) resolve()
      else reject(aborted(by))
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    look().then(
      (isOver) => isOver && finish(),
      () => finish(),
    )
  })
}

/** Watching is only a way to be quick: where it fails, the timeout does the work. */
function watchQuietly(folder: string, onChange: () => void): () => void {
  try {
    const watcher = watch(folder, { persistent: false }, onChange)
    watcher.on('error', onChange)
    return () => watcher.close()
  } catch {
    return () => undefined
  }
}
