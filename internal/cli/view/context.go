package view

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/instructions"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// ShowInstructions lists instruction files with their sizes.
func ShowInstructions(p *command.Program, to *term.Printer, files []instructions.File) {
	for _, f := range files {
		more := string(f.Memory)
		if f.Parent != "" {
			more += ", included by " + f.Parent
		}
		if f.Truncated {
			more += ", cut"
		}
		to.Line("%7d  %s  %s", f.Size, term.Escape(f.Path), to.Dim(term.Escape(more)))
	}
}
