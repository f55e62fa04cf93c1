import { randomBytes } from 'node:crypto'
import { assertBytes, assertCode, assertEqual, assertTrue } from '../../assertions.js'
import { backendCases } from '../../backend-case.js'
import type { BackendCase } from '../../backend-case.js'
import { bytesOf, readBytes } from '../../backend-context.js'

export const READ_WRITE_CASES: readonly BackendCase[] = backendCases('files', [
  [
    'FILE-1',
    'write.round-trip',
    'gives back what was written, from nothing to 10 MB',
    async (context) => {
      const { files, paths } = await context.sandbox()
      for (const sizeBytes of [0, 1, 65_535, 65_536, 65_537, 10_000_000]) {
        const data = randomBytes(sizeBytes)
        await files.write(`${paths.workspace}/f`, data)
        assertBytes(await readBytes(await files.read(`${paths.workspace}/f`)), data, `${sizeBytes} bytes`)
        assertEqual((await files.stat(`${paths.workspace}/f`))?.sizeBytes, sizeBytes, 'size by stat')
      }
    },
  ],
  [
    'FILE-1',
    'write.seen-by-commands',
    'shows commands what was written, and files what commands wrote',
    async (context) => {
      const sandbox = await context.sandbox()
      await sandbox.files.write(`${sandbox.paths.workspace}/in`, bytesOf(context.nonce))
      assertEqual(await context.output(sandbox, 'cat in; printf out > out'), context.nonce, 'what a command reads')
      const out = await readBytes(await sandbox.files.read(`${sandbox.paths.workspace}/out`))
      assertEqual(new TextDecoder().decode(out), 'out', 'what a command wrote')
    },
  ],
  [
    'FILE-2',
    'write.sources',
    'takes bytes at once, as a stream and as an iteration, and keeps nothing of the caller’s buffers',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const path = `${paths.workspace}/f`
      const read = async (): Promise<string> => new TextDecoder().decode(await readBytes(await files.read(path)))
      const buffer = bytesOf('once')
      const write = files.write(path, buffer)
      await write
      buffer.fill(0)
      assertEqual(await read(), 'once', 'bytes at once')
      await files.write(path, new Response('as a stream').body!)
      assertEqual(await read(), 'as a stream', 'a stream')
      async function* pieces(): AsyncGenerator<Uint8Array> {
        for (const piece of ['as ', '', 'an iteration']) yield await Promise.resolve(bytesOf(piece))
      }
      await files.write(path, pieces())
      assertEqual(await read(), 'as an iteration', 'an iteration')
    },
  ],
  [
    'FILE-3',
    'write.atomic',
    'shows readers the old contents or the new, never a part',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const path = `${paths.workspace}/f`
      const content = (letter: string): Uint8Array => bytesOf(letter.repeat(300_000))
      await files.write(path, content('a'))
      let writing = true
      const writeAll = async (): Promise<void> => {
        try {
          for (let round = 0; round < 30; round++) await files.write(path, content('abc'[round % 3]!))
        } finally {
          writing = false
        }
      }
      const writer = context.meanwhile(writeAll())
      let reads = 0
      while (writing) {
        const text = new TextDecoder().decode(await readBytes(await files.read(path)))
        assertTrue(text.length === 300_000 && new Set(text).size === 1, 'a reader sees one whole version')
        reads++
      }
      await writer
      assertTrue(reads > 0, 'somebody read')
    },
  ],
  [
    'FILE-3',
    'write.open-reader',
    'leaves a reader with the contents that it opened',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const path = `${paths.workspace}/f`
      await files.write(path, bytesOf('o'.repeat(500_000)))
      const reader = (await files.read(path)).getReader()
      const first = await reader.read()
      await files.write(path, bytesOf('n'.repeat(500_000)))
      let text = new TextDecoder().decode(first.value)
      for (let next = await reader.read(); !next.done; next = await reader.read())
        text += new TextDecoder().decode(next.value)
      assertEqual([text.length, new Set(text).size], [500_000, 1], 'length, and number of versions in it')
    },
  ],
  [
    'FILE-3',
    'write.failed-source',
    'leaves the old file, and no temporary one, when the source fails',
    async (context) => {
      const { files, paths } = await context.sandbox()
      await files.write(`${paths.workspace}/f`, bytesOf('old'))
      async function* broken(): AsyncGenerator<Uint8Array> {
        yield await Promise.resolve(bytesOf('half'))
        throw new TypeError('the source broke')
      }
      let failure: unknown
      await files.write(`${paths.workspace}/f`, broken()).catch((error: unknown) => (failure = error))
      assertTrue(failure !== undefined, 'the write fails')
      assertEqual(
        new TextDecoder().decode(await readBytes(await files.read(`${paths.workspace}/f`))),
        'old',
        'the file',
      )
      const names: string[] = []
      for await (const entry of files.list(paths.workspace)) names.push(entry.name)
      assertEqual(names, ['f'], 'what is in the directory')
    },
  ],
  [
    'FILE-3',
    'write.aborted',
    'leaves the old file, and no temporary one, when it is aborted, also while the source hangs',
    async (context) => {
      const { files, paths } = await context.sandbox()
      await files.write(`${paths.workspace}/f`, bytesOf('old'))
      const controller = new AbortController()
      const hanging = new ReadableStream<Uint8Array>({ start: (stream) => stream.enqueue(bytesOf('half')) })
      const write = context.meanwhile(files.write(`${paths.workspace}/f`, hanging, { signal: controller.signal }))
      setTimeout(() => controller.abort(), 30)
      await assertCode(context.within('the write', write), 'aborted', 'write that is aborted')
      assertEqual(
        new TextDecoder().decode(await readBytes(await files.read(`${paths.workspace}/f`))),
        'old',
        'the file',
      )
      const names: string[] = []
      for await (const entry of files.list(paths.workspace)) names.push(entry.name)
      assertEqual(names, ['f'], 'what is in the directory')
    },
  ],
  [
    'FILE-4',
    'write.mode',
    'keeps the mode of the file that is replaced, takes the mode that is given, and else 0644',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const path = `${paths.workspace}/f`
      const mode = async (): Promise<number | undefined> => (await files.stat(path))?.mode
      await files.write(path, bytesOf('1'))
      assertEqual(await mode(), 0o644, 'mode of a new file')
      await files.chmod(path, 0o751)
      await files.write(path, bytesOf('2'))
      assertEqual(await mode(), 0o751, 'mode of a replaced file')
      await files.write(path, bytesOf('3'), { mode: 0o600 })
      assertEqual(await mode(), 0o600, 'mode that was given')
      await files.write(path, bytesOf('4'), { append: true })
      assertEqual(await mode(), 0o600, 'mode after append')
    },
  ],
  [
    'FILE-5',
    'write.append',
    'appends in place, and makes what is not there',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const path = `${paths.workspace}/f`
      await files.write(path, bytesOf('a'), { append: true })
      const before = await files.stat(path)
      await files.write(path, bytesOf('b'), { append: true })
      await files.write(path, bytesOf(''), { append: true })
      assertEqual(new TextDecoder().decode(await readBytes(await files.read(path))), 'ab', 'contents')
      assertEqual((await files.stat(path))?.inode, before?.inode, 'inode')
    },
  ],
  [
    'FILE-6',
    'write.exclusive',
    'makes a file with exclusive only where nothing is, not even a dangling link',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const path = (name: string): string => `${paths.workspace}/${name}`
      await files.write(path('new'), bytesOf('1'), { exclusive: true })
      await files.symlink('none', path('dangling'))
      await files.mkdir(path('dir'))
      for (const name of ['new', 'dangling', 'dir']) {
        await assertCode(
          files.write(path(name), bytesOf('2'), { exclusive: true }),
          'already_exists',
          `exclusive over ${name}`,
        )
      }
      assertEqual(await files.stat(path('none')), undefined, 'what the link points to')
      const tries = await Promise.allSettled(
        Array.from({ length: 8 }, (_, n) => files.write(path('race'), bytesOf(String(n)), { exclusive: true })),
      )
      assertEqual(tries.filter((each) => each.status === 'fulfilled').length, 1, 'writers of eight that succeeded')
    },
  ],
  [
    'FILE-7',
    'write.refused',
    'refuses missing parents, directories and files on the way, and makes nothing',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const path = (name: string): string => `${paths.workspace}/${name}`
      await files.write(path('file'), bytesOf('x'))
      await files.mkdir(path('dir'))
      await assertCode(files.write(path('none/f'), bytesOf('x')), 'not_found', 'write without a parent')
      await assertCode(files.write(path('dir'), bytesOf('x')), 'is_a_directory', 'write over a directory')
      await assertCode(files.write(path('file/f'), bytesOf('x')), 'not_a_directory', 'write beneath a file')
      assertEqual(await files.stat(path('none')), undefined, 'the parent that is not there')
    },
  ],
  [
    'FILE-8',
    'write.through-link',
    'writes to the target of a link and leaves the link',
    async (context) => {
      const { files, paths } = await context.sandbox()
      await files.write(`${paths.workspace}/target`, bytesOf('old'))
      await files.symlink('target', `${paths.workspace}/link`)
      await files.write(`${paths.workspace}/link`, bytesOf('new'))
      assertEqual((await files.stat(`${paths.workspace}/link`))?.type, 'symlink', 'what is at the link')
      assertEqual(
        new TextDecoder().decode(await readBytes(await files.read(`${paths.workspace}/target`))),
        'new',
        'the target',
      )
    },
  ],
  [
    'FILE-9',
    'write.hardlink',
    'replaces one name of a file with several, and appends to all of them',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const [a, b] = [`${paths.workspace}/a`, `${paths.workspace}/b`]
      await files.write(a, bytesOf('old'))
      await files.link(a, b)
      await files.write(a, bytesOf('+'), { append: true })
      assertEqual(new TextDecoder().decode(await readBytes(await files.read(b))), 'old+', 'the other name after append')
      await files.write(a, bytesOf('new'))
      assertEqual(new TextDecoder().decode(await readBytes(await files.read(b))), 'old+', 'the other name after write')
    },
  ],
  [
    'FILE-10',
    'read.ranges',
    'reads any range, and what is beyond the end as nothing',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const path = `${paths.workspace}/f`
      const data = randomBytes(200_000)
      await files.write(path, data)
      const ranges = [
        [0, 0],
        [0, 1],
        [1, 5],
        [65_535, 2],
        [199_999, 1],
        [199_999, 100],
        [200_000, 1],
        [300_000, 10],
        [100, undefined],
        [0, 1e9],
      ] as const
      for (const [offset, length] of ranges) {
        const range = length === undefined ? { offset } : { offset, length }
        const seen = await readBytes(await files.read(path, range))
        assertBytes(
          seen,
          data.subarray(offset, length === undefined ? undefined : offset + length),
          `range ${JSON.stringify(range)}`,
        )
      }
      for (const range of [{ offset: -1 }, { length: -1 }, { offset: 0.5 }, { offset: Number.NaN }]) {
        await assertCode(files.read(path, range), 'invalid_argument', `range ${JSON.stringify(range)}`)
      }
    },
  ],
  [
    'FILE-11',
    'read.cancelled',
    'gives everything back when streams are cancelled, a hundred times',
    async (context) => {
      const { files, paths } = await context.sandbox()
      await files.write(`${paths.workspace}/f`, new Uint8Array(1_000_000))
      for (let round = 0; round < 100; round++) {
        const stream = await files.read(`${paths.workspace}/f`)
        const reader = stream.getReader()
        if (round % 2 === 0) await reader.read()
        await reader.cancel()
      }
    },
  ],
  [
    'FILE-12',
    'read.refused',
    'refuses what is no file and what is not there',
    async (context) => {
      const { files, paths } = await context.sandbox()
      await files.write(`${paths.workspace}/f`, bytesOf('x'))
      await assertCode(files.read(`${paths.workspace}/none`), 'not_found', 'read of nothing')
      await assertCode(files.read(paths.workspace), 'is_a_directory', 'read of a directory')
      await assertCode(files.read(`${paths.workspace}/f/x`), 'not_a_directory', 'read beneath a file')
    },
  ],
  [
    'FILE-13',
    'paths.invalid',
    'says invalid_argument for relative, empty, over-long paths and those with NUL',
    async (context) => {
      const { files, paths } = await context.sandbox()
      const { workspace } = paths
      const wrong = [
        '',
        'f',
        './f',
        `${workspace}/a\0b`,
        `${workspace}/${'n'.repeat(256)}`,
        `${workspace}/${'d/'.repeat(2_100)}f`,
      ]
      for (const path of [...wrong, `${workspace}/\ud800`]) {
        const what = JSON.stringify(path.slice(0, 60))
        await assertCode(files.stat(path), 'invalid_argument', `stat of ${what}`)
        await assertCode(files.read(path), 'invalid_argument', `read of ${what}`)
        await assertCode(files.write(path, bytesOf('x')), 'invalid_argument', `write of ${what}`)
        await assertCode(files.mkdir(path), 'invalid_argument', `mkdir of ${what}`)
        await assertCode(files.remove(path), 'invalid_argument', `remove of ${what}`)
        await assertCode(files.rename(path, `${workspace}/x`), 'invalid_argument', `rename of ${what}`)
      }
    },
  ],
])
