package record

import "strings"

// The marks of commands that the user ran, and of their output, in a text of the user.
const (
	commandsBegin = "\n\n<user_commands>\n"
	commandsEnd   = "\n</user_commands>"
)

// WithCommands adds commands that the user ran to the user's text.
func WithCommands(text string, commands []string) string {
	if len(commands) == 0 {
		return text
	}
	return text + commandsBegin + strings.Join(commands, "\n\n") + commandsEnd
}

// CutCommands returns a user's text without the commands that [WithCommands] has added, and the
// commands, which are "" if there are none.
func CutCommands(text string) (rest, commands string) {
	before, after, ok := strings.Cut(text, commandsBegin)
	if i := strings.LastIndex(after, commandsEnd); ok && i >= 0 {
		return before + after[i+len(commandsEnd):], after[:i]
	}
	return text, ""
}
