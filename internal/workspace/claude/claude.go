package claude

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"github.com/holdfast-dev/holdfast/internal/workspace/lineio"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Driver is Claude Code. The zero value starts `claude`.
type Driver struct {
	Start []string // the command in place of "claude"
}

// Name is "claude".
func (Driver) Name() string { return "claude" }

// ReportsCost implements [vendor.CostReporter].
func (Driver) ReportsCost() {}

// Command never names a session's id twice: the program refuses an id that it is to make
// together with one that it is to resume.
func (d Driver) Command(t vendor.Turn) vendor.Command {
	args := slices.Clone(d.Start)
	if len(args) == 0 {
		args = []string{"claude"}
	}
	args = append(args, "-p", "--verbose", "--output-format", "stream-json", "--input-format", "stream-json",
		"--include-partial-messages", "--permission-prompt-tool", "stdio", "--permission-mode", "default",
		"--disallowed-tools", "AskUserQuestion") // nobody sees what it asks
	if t.Model != "" {
		args = append(args, "--model", t.Model)
	}
	if t.System != "" {
		args = append(args, "--append-system-prompt", t.System)
	}
	switch {
	case t.Resume:
		args = append(args, "--resume", t.Session)
	case t.Session != "":
		args = append(args, "--session-id", t.Session)
	}
	return vendor.Command{Args: args, Env: []string{
		"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}}
}

var nonNameChars = lazyregexp.Must(`[^a-zA-Z0-9]`)

// longestFolder is how long a folder's name in ~/.claude/projects gets before it ends in
// a hash.
const longestFolder = 200

// Transcript is where Claude Code keeps a session that was begun in dir; "" when the name
// of its folder cannot be known.
func (Driver) Transcript(session, dir string) string {
	folder := nonNameChars().ReplaceAllString(dir, "-")
	if len(folder) > longestFolder {
		return ""
	}
	return ".claude/projects/" + folder + "/" + session + ".jsonl"
}

// Run leads the process through one turn.
func (Driver) Run(ctx context.Context, t vendor.Turn, p vendor.Process, s vendor.Sink) (vendor.End, error) {
	ctx, stop := context.WithCancel(ctx)
	w := lineio.NewWriter(p.Stdin())
	r := &run{ctx: ctx, turn: t, sink: s, out: w, permits: map[string]context.CancelFunc{}, told: map[string]bool{}}
	defer func() {
		stop()
		w.Close()
		r.waiting.Wait()
	}()
	r.send(initialize())
	r.send(userMessage(t.Input))
	in := lineio.NewReader(p.Stdout())
	for {
		line, err := in.Next()
		if err != nil {
			if ferr := r.flush(); ferr != nil {
				return vendor.End{}, ferr
			}
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return vendor.End{}, err
		}
		if err := r.handle(line); err != nil {
			return vendor.End{}, err
		}
		if r.end != nil {
			return *r.end, nil
		}
	}
}

// resumeTrouble are words of failures that a new session may not have.
var resumeTrouble = []string{
	"no conversation found", "failed to resume", "session id", "prompt is too long", "context limit",
	"tool_use", "tool_result", "invalid_request_error", "messages.",
}

// isResumeError reports whether a failure is about the session that was resumed.
func isResumeError(failure string) bool {
	failure = strings.ToLower(failure)
	return slices.ContainsFunc(resumeTrouble, func(w string) bool { return strings.Contains(failure, w) })
}

// content is a message's content as the wire has it.
func content(parts []transcript.Part) []map[string]any {
	var blocks []map[string]any
	text := func(s string) { blocks = append(blocks, map[string]any{"type": "text", "text": s}) }
	for _, p := range parts {
		switch p := p.(type) {
		case transcript.Text:
			text(p.Text)
		case transcript.Media:
			if src := source(p.MIME, p.Data, p.URI); src != nil && strings.HasPrefix(p.MIME, "image/") {
				blocks = append(blocks, map[string]any{"type": "image", "source": src})
			} else {
				text("[" + p.MIME + " that cannot be shown here] " + p.URI)
			}
		case transcript.File:
			if src := source(p.MIME, p.Data, p.URI); src != nil && p.MIME == "application/pdf" {
				blocks = append(blocks, map[string]any{"type": "document", "source": src, "title": p.Name})
			} else {
				text("[file " + p.Name + "]\n" + string(p.Data))
			}
		case transcript.Structured:
			text(string(p.Value))
		}
	}
	return blocks
}

func source(mime string, data []byte, uri string) map[string]any {
	switch {
	case len(data) > 0:
		return map[string]any{"type": "base64", "media_type": mime, "data": data} // as base64
	case strings.HasPrefix(uri, "https://"):
		return map[string]any{"type": "url", "url": uri}
	}
	return nil
}
