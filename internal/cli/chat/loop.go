package chat

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// converse shows a conversation until the user leaves it.
func converse(context.Context, *command.Program, *Start) error {
	return outcome.Invalid("the conversation is not built yet", `use holdfast run "what to do"`)
}
