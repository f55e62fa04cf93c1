import type { WorkerMessage } from './worker.js'

/** Prints what happens, for people or, with `json`, for programs. */
export interface Timeline {
  title(text: string): void
  note(text: string): void
  message(message: WorkerMessage): void
  diff(text: string): void
  end(): void
}

export function createTimeline(options: { readonly json: boolean }): Timeline {
  const startedMs = performance.now()
  const seconds = (): string => ((performance.now() - startedMs) / 1_000).toFixed(2).padStart(6)
  const print = (text: string): void => void process.stdout.write(`${text}\n`)
  if (options.json) {
    const line = (kind: string, data: object): void =>
      print(JSON.stringify({ atMs: Math.round(performance.now() - startedMs), kind, ...data }))
    return {
      title: (text) => line('title', { text }),
      note: (text) => line('note', { text }),
      message: ({ kind, ...data }) => line(kind, kind === 'done' ? { said: 'said' in data ? data.said : '' } : data),
      diff: (text) => line('diff', { text }),
      end: () => line('end', {}),
    }
  }
  const row = (text: string): void => print(`${seconds()}s  ${text}`)
  return {
    title: (text) => print(`\n── ${text} ──`),
    note: row,
    message: (message) => {
      for (const text of rows(message)) row(text)
    },
    diff: (text) => print(text.trimEnd()),
    end: () => print(`\ndone in ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`),
  }
}

function rows(message: WorkerMessage): readonly string[] {
  switch (message.kind) {
    case 'ready':
      return [
        `workspace ready, branch ${message.branch}, in ${Math.round(message.durationMs)} ms: ${message.workspace}`,
        ...message.confinement.map((sentence) => `  ${sentence}`),
      ]
    case 'step': {
      const { tool, why, ok, summary, durationMs } = message.step
      return [`${ok ? '✓' : '✗'} ${tool.padEnd(13)} ${why} → ${summary} (${Math.round(durationMs)} ms)`]
    }
    case 'event':
      return [`! ${message.text}`]
    case 'midway':
      return ['… half done, and still at work']
    case 'done':
      return [`agent: ${message.said}`]
    case 'released': {
      const { snapshot, files, bytes, compute, durationMs } = message
      const saved = snapshot === null ? 'nothing saved' : `snapshot ${snapshot} (${files} files, ${bytes} bytes)`
      return [`released in ${Math.round(durationMs)} ms: ${saved}; sandbox ${compute}`]
    }
  }
}
