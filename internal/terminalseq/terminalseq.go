// Package terminalseq decides which control sequences may reach a terminal: titles, notifications and the
// bell.
package terminalseq

import "github.com/holdfast-dev/holdfast/internal/lazyregexp"

// terminalPart matches the bell, or one operating system command that sets a title or shows a notification:
// ESC ] number ; text, ended by BEL or ESC \. The text contains no control characters.
const terminalPart = `(?:\x07|\x1b\](?:0|1|2|9|99|777)(?:;[^\x00-\x1f\x7f-\x{9f}]*)?(?:\x07|\x1b\\))`

var terminalSafe = lazyregexp.Must(`^` + terminalPart + `+$`)

// maxTerminal is the maximum length of a sequence in bytes.
const maxTerminal = 4096

// Safe reports whether a sequence cannot write on the screen, read the
// clipboard or make the terminal answer.
func Safe(s string) bool { return len(s) <= maxTerminal && terminalSafe().MatchString(s) }
