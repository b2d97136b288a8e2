package command

import "github.com/holdfast-dev/holdfast/internal/shellparse"

// Line makes one line of what follows "--": one word is a line as a shell
// would get it, several are the words of one command.
func Line(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return shellparse.Canonical(words...)
}
