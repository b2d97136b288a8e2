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

// Driver drives Claude Code. The zero value starts `claude`.
type Driver struct {
	Start []string // the command; default "claude"
}

// Name implements [vendor.Driver].
func (Driver) Name() string { return "claude" }

// ReportsCost implements [vendor.CostReporter].
func (Driver) ReportsCost() {}

// Command returns the command line. It never contains two session ids, because the program rejects
// an id for a new session together with the id of a session to resume.
func (d Driver) Command(t vendor.Turn) vendor.Command {
	args := slices.Clone(d.Start)
	if len(args) == 0 {
		args = []string{"claude"}
	}
	args = append(args, "-p", "--verbose", "--output-format", "stream-json", "--input-format", "stream-json",
		"--include-partial-messages", "--permission-prompt-tool", "stdio", "--permission-mode", "default",
		"--disallowed-tools", "AskUserQuestion") // the user would not see the questions of this tool
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

// longestFolder is the maximum length of a folder name in ~/.claude/projects. Claude Code shortens
// longer names with a hash.
const longestFolder = 200

// Transcript returns the path of the session file for a session that was started in dir. It returns
// "" if the folder's name cannot be computed.
func (Driver) Transcript(session, dir string) string {
	folder := nonNameChars().ReplaceAllString(dir, "-")
	if len(folder) > longestFolder {
		return ""
	}
	return ".claude/projects/" + folder + "/" + session + ".jsonl"
}

// Run runs one turn.
func (Driver) Run(ctx context.Context, t vendor.Turn, p vendor.Process, s vendor.Sink) (vendor.End, error) {
	ctx, stop := context.WithCancel(ctx)
	w := lineio.NewWriter(p.Stdin())
	r := &run{ctx: ctx, turn: t, sink: s, out: w, permits: map[string]context.CancelFunc{}, reported: map[string]bool{}}
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

// resumeTrouble has parts of error messages. If a message contains one of them, a new session may
// avoid the error.
var resumeTrouble = []string{
	"no conversation found", "failed to resume", "session id", "prompt is too long", "context limit",
	"tool_use", "tool_result", "invalid_request_error", "messages.",
}

// isResumeError reports whether a new session, instead of the resumed one, may avoid an error.
func isResumeError(failure string) bool {
	failure = strings.ToLower(failure)
	return slices.ContainsFunc(resumeTrouble, func(w string) bool { return strings.Contains(failure, w) })
}

// content returns a message's content in the protocol's form.
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
