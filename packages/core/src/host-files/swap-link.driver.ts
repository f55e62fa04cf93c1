/** Flips `<folder>/ws/door` between a directory inside and a link to one outside, until it is killed. */
import { renameSync, symlinkSync } from 'node:fs'

const folder = process.argv[2] ?? ''
const door = `${folder}/ws/door`
symlinkSync(`${folder}/outside`, `${folder}/link`)
process.stdout.write('ready\n')
for (;;) {
  renameSync(door, `${folder}/door`)
  renameSync(`${folder}/link`, door)
  renameSync(door, `${folder}/link`)
  renameSync(`${folder}/door`, door)
}
