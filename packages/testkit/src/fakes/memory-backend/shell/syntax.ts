/** A shell script, parsed: the part of POSIX sh that the memory sandbox understands. */
export type Script = readonly ListItem[]

export interface ListItem {
  readonly first: Pipeline
  readonly rest: readonly { readonly when: '&&' | '||'; readonly pipeline: Pipeline }[]
  readonly background: boolean
}

export interface Pipeline {
  readonly negated: boolean
  readonly commands: readonly Command[]
}

export type Command =
  | SimpleCommand
  | { readonly kind: 'subshell' | 'group'; readonly body: Script; readonly redirects: readonly Redirect[] }
  | {
      readonly kind: 'if'
      readonly branches: readonly { readonly condition: Script; readonly body: Script }[]
      readonly otherwise: Script
      readonly redirects: readonly Redirect[]
    }
  | {
      readonly kind: 'while'
      readonly until: boolean
      readonly condition: Script
      readonly body: Script
      readonly redirects: readonly Redirect[]
    }
  | {
      readonly kind: 'for'
      readonly name: string
      /** Null: the positional parameters. */
      readonly words: readonly Word[] | null
      readonly body: Script
      readonly redirects: readonly Redirect[]
    }
  | {
      readonly kind: 'case'
      readonly subject: Word
      readonly branches: readonly { readonly patterns: readonly Word[]; readonly body: Script }[]
      readonly redirects: readonly Redirect[]
    }

export interface SimpleCommand {
  readonly kind: 'simple'
  readonly assignments: readonly { readonly name: string; readonly value: Word }[]
  readonly words: readonly Word[]
  readonly redirects: readonly Redirect[]
}

export interface Redirect {
  readonly fd: number
  readonly operator: '<' | '>' | '>>' | '<&' | '>&' | '<<'
  /** The file or descriptor; for `<<` the text. Filled in when the line of a here-document is over. */
  target: Word
}

export type Word = readonly Part[]

export type Part =
  | { readonly kind: 'text'; readonly text: string; readonly quoted: boolean }
  | {
      readonly kind: 'parameter'
      readonly name: string
      readonly operator: '' | '-' | ':-' | '+' | ':+' | '=' | ':=' | '#' | '##' | '%' | '%%' | 'length'
      readonly argument: Word
      readonly quoted: boolean
    }
  | { readonly kind: 'command'; readonly body: Script; readonly quoted: boolean }
  | { readonly kind: 'arithmetic'; readonly expression: Word; readonly quoted: boolean }

/** The script is not one; `sh` says so and exits with 2. */
export class ShellSyntaxError extends Error {
  override readonly name = 'ShellSyntaxError'
}
