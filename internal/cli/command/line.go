package command

import "github.com/holdfast-dev/holdfast/internal/shellparse"

// Line returns the command line in the words after "--": one word is a shell command line, several
// words are one command.
func Line(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return shellparse.Canonical(words...)
}
