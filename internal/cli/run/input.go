package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/inputimage"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/transcript"
)

// stdinTimeout is how long to wait for input from an idle pipe if the command line already has a
// prompt.
const stdinTimeout = 3 * time.Second

// input returns the prompt: the argument, standard input, or both, and the images. Without a prompt, a resumed
// session continues from its last item.
func (c *Cmd) input(ctx context.Context, p *command.Program) ([]transcript.Part, error) {
	images, err := c.ReadImages(p)
	if err != nil {
		return nil, err
	}
	text := c.Prompt
	if term.IsTerminal(p.Stdin) {
		switch {
		case text != "" && text != "-":
		case len(images) > 0:
			text = ""
		case c.Resumes():
			return nil, nil
		default:
			return nil, c.noPrompt()
		}
		return inputimage.Input(text, images), nil
	}
	alone := text == "" || text == "-"
	in, err := readInput(ctx, p, !alone)
	if err != nil {
		return nil, err
	}
	in = strings.TrimRight(in, "\n")
	switch {
	case alone:
		text = in
	case strings.TrimSpace(in) != "":
		text += "\n\n" + in
	}
	if strings.TrimSpace(text) == "" && len(images) == 0 {
		if c.Resumes() {
			return nil, nil
		}
		return nil, c.noPrompt()
	}
	return inputimage.Input(text, images), nil
}

func (c *Cmd) noPrompt() error {
	if c.Worktree.Name != "" {
		return outcome.Invalid("no prompt: "+c.Worktree.Name+" was read as the worktree's name", `holdfast run --worktree -- "what to do", or holdfast run --worktree=NAME "what to do"`)
	}
	return outcome.Invalid("no prompt", `holdfast run "what to do"`)
}

// readInput reads standard input to its end. If optional is true, it gives up on an idle pipe, so
// that the program does not hang if the caller forgot to close the pipe.
func readInput(ctx context.Context, p *command.Program, optional bool) (string, error) {
	type chunk struct {
		text string
		err  error
	}
	first := make(chan struct{}, 1)
	all := make(chan chunk, 1)
	go func() { // the goroutine ends at the end of the input, or with the process
		r := io.LimitReader(p.Input(ctx), command.InputLimit+1)
		var b strings.Builder
		head := make([]byte, 32<<10)
		n, err := r.Read(head)
		first <- struct{}{}
		b.Write(head[:n])
		if err == nil {
			_, err = io.Copy(&b, r)
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		all <- chunk{b.String(), err}
	}()
	if optional {
		timer := time.NewTimer(stdinTimeout)
		defer timer.Stop()
		select {
		case <-first:
		case <-timer.C:
			p.Warn("no data on standard input; continuing without it")
			return "", nil
		}
	}
	c := <-all
	if c.err != nil {
		return "", fmt.Errorf("read standard input: %w", c.err)
	}
	if len(c.text) > command.InputLimit {
		return "", outcome.Invalid(fmt.Sprintf("standard input is larger than %d MiB", command.InputLimit>>20), "put it in a file and name the file in the prompt")
	}
	return c.text, nil
}
