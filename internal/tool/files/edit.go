package files

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

const (
	contextLines    = 3  // lines of a snippet before and after a change
	maxSnippetLines = 40 // of a snippet
)

type editInput struct {
	Path string `json:"file_path" jsonschema:"The file to change: absolute, or relative to the current directory"`
	edit
}

type multiEditInput struct {
	Path  string `json:"file_path" jsonschema:"The file to change: absolute, or relative to the current directory"`
	Edits []edit `json:"edits" jsonschema:"The replacements, applied in order; either all of them or none"`
}

func (f *Files) newEdit() (tool.Tool, error) {
	return tool.New(tool.Spec{
		Name: "Edit",
		Description: "Replaces text in a file that you have read. old_string must match exactly, with its indentation, " +
			"and be unique unless replace_all is set. Line endings and a byte order mark are preserved.",
	}, func(ctx context.Context, call *tool.Call, in editInput) (tool.Result, error) {
		return f.change(ctx, call, in.Path, []edit{in.edit})
	}, func(call *tool.Call, in editInput) ([]policy.Request, error) {
		return f.changeRequests(call, in.Path, []edit{in.edit})
	})
}

func (f *Files) newMultiEdit() (tool.Tool, error) {
	return tool.New(tool.Spec{
		Name: "MultiEdit",
		Description: "Makes several replacements in one file that you have read. Each replacement applies to the result of the previous one. " +
			"If one of them fails, nothing is changed.",
	}, func(ctx context.Context, call *tool.Call, in multiEditInput) (tool.Result, error) {
		return f.change(ctx, call, in.Path, in.Edits)
	}, func(call *tool.Call, in multiEditInput) ([]policy.Request, error) {
		return f.changeRequests(call, in.Path, in.Edits)
	})
}

func (f *Files) changeRequests(call *tool.Call, path string, edits []edit) ([]policy.Request, error) {
	if len(edits) == 0 {
		return nil, errors.New("edits must not be empty")
	}
	for _, e := range edits {
		if err := e.check(); err != nil {
			return nil, err
		}
	}
	p, r, err := f.request(call, policy.OpWrite, path)
	if err != nil {
		return nil, err
	}
	r.Display = f.preview(p, func(old []byte) ([]byte, error) {
		c, err := applyAll(parseText(old), edits)
		return c.text.bytes(), err
	})
	return []policy.Request{r}, nil
}

// change applies edits to a file, all or none.
func (f *Files) change(ctx context.Context, call *tool.Call, path string, edits []edit) (tool.Result, error) {
	f.changing.Lock()
	defer f.changing.Unlock()
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	if len(edits) == 0 {
		return tool.Failure("edits must not be empty"), nil
	}
	p, err := f.locate(call, path)
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	was, c, err := f.edited(p, edits)
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	changes, err := f.replace(ctx, call, p, c.text.bytes(), was)
	if err != nil {
		r := tool.Failure(pathErrorText(p, err))
		r.Changes = changes
		return r, nil
	}
	what := "1 replacement"
	if c.count != 1 {
		what = fmt.Sprintf("%d replacements", c.count)
	}
	r := tool.Text(fmt.Sprintf("Successfully edited %s (%s)\n%s", p.Abs, what, c.snippet()))
	r.Changes = changes
	return r, nil
}

// edited reads a file and applies edits to its text, or returns the reason why it cannot.
func (f *Files) edited(p workdir.Path, edits []edit) (was originalFile, c editResult, err error) {
	if was, err = f.current(p); err == nil {
		err = writable(p)
	}
	if err != nil {
		return was, c, errors.New(openErrorText(p, err))
	}
	if c, err = applyAll(parseText(was.data), edits); err != nil {
		return was, c, fmt.Errorf("%s: %w", p.Abs, err)
	}
	if len(c.text.raw) > maxWhole {
		return was, c, fmt.Errorf("%s: the change would make the file larger than %d bytes", p.Abs, maxWhole)
	}
	return was, c, nil
}

// editResult is the result of edits: the new text, the number of replacements, and the span of text.seen that
// contains them.
type editResult struct {
	text        text
	count       int
	first, last int
}

func applyAll(t text, edits []edit) (editResult, error) {
	c := editResult{text: t, first: -1}
	for i, e := range edits {
		next, n, first, last, err := c.text.apply(e)
		if err != nil {
			if len(edits) > 1 {
				err = fmt.Errorf("edit %d of %d: %w; nothing was changed", i+1, len(edits), err)
			}
			return editResult{text: t}, err
		}
		if c.first < 0 {
			c.first, c.last = first, last
		} else {
			if first < c.last { // the edit moved the text after it
				c.last += len(next.seen) - len(c.text.seen)
			}
			c.first, c.last = min(c.first, first), max(c.last, last)
		}
		c.text, c.count = next, c.count+n
	}
	return c, nil
}

// snippet returns the changed lines with their context, numbered like Read's output.
func (c editResult) snippet() string {
	lines := strings.Split(strings.TrimSuffix(c.text.seen, "\n"), "\n")
	from := strings.Count(c.text.seen[:min(c.first, len(c.text.seen))], "\n")
	to := strings.Count(c.text.seen[:min(c.last, len(c.text.seen))], "\n")
	to = min(to+contextLines+1, len(lines))
	from = min(max(from-contextLines, 0), to)
	var out []string
	for i := range lines[from:to] {
		if i == maxSnippetLines {
			out = append(out, fmt.Sprintf("… %d more lines", to-from-i))
			break
		}
		out = append(out, fmt.Sprintf("%d\t%s", from+i+1, clipLine(lines[from+i])))
	}
	return strings.Join(out, "\n")
}

func clipLine(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxLineLength/4 {
		return s
	}
	return strings.ToValidUTF8(s[:maxLineLength/4], "") + "… [line cut]"
}
