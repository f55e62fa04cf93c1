import type { Program } from '../process/memory-process.js'
import { bracketTest, test } from './evaluate-test.js'
import { FILE_PROGRAMS } from './file-programs.js'
import { printf } from './printf.js'
import { PROCESS_PROGRAMS } from './process-programs.js'
import { printName, TEXT_PROGRAMS } from './text-programs.js'

const basename: Program = (process, [path = '']) => printName(process, path.replace(/\/+$/, '').split('/').at(-1)!)
const dirname: Program = (process, [path = '']) =>
  printName(process, /^(.*?)\/+[^/]*\/*$/s.exec(path)?.[1] || (path.startsWith('/') ? '/' : '.'))

/** Everything that is installed on a machine. */
export const PROGRAMS: ReadonlyMap<string, Program> = new Map(
  Object.entries({
    ...TEXT_PROGRAMS,
    ...FILE_PROGRAMS,
    ...PROCESS_PROGRAMS,
    '[': bracketTest,
    basename,
    dirname,
    printf,
    test,
  }),
)
