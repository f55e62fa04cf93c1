import { execFile } from 'node:child_process'
import { basename, dirname } from 'node:path'

/** The difference of two folders beside each other, as `git diff` writes it. */
export function diffFolders(before: string, after: string): Promise<string> {
  const arguments_ = ['diff', '--no-index', '--no-color', '--no-ext-diff', basename(before), basename(after)]
  return new Promise((resolve, reject) => {
    execFile('git', arguments_, { cwd: dirname(before) }, (error, stdout) => {
      // git says 1 when there is a difference.
      if (error === null || error.code === 1) resolve(stdout)
      else reject(new Error(`git diff failed: ${error.message}`))
    })
  })
}
