package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

type writeInput struct {
	Path    string `json:"file_path" jsonschema:"The file to write: absolute, or relative to the current directory"`
	Content string `json:"content" jsonschema:"The complete new content"`
}

func (f *Files) newWrite() (tool.Tool, error) {
	return tool.New(tool.Spec{
		Name: "Write",
		Description: "Writes a complete file and creates its folders if necessary. " +
			"You must have read an existing file in this session, and it must not have changed since. To change part of a file, use Edit.",
	}, f.write, func(call *tool.Call, in writeInput) ([]policy.Request, error) {
		p, r, err := f.request(call, policy.OpWrite, in.Path)
		if err == nil {
			r.Display = f.preview(p, func([]byte) ([]byte, error) { return []byte(in.Content), nil })
		}
		return []policy.Request{r}, err
	})
}

func (f *Files) write(ctx context.Context, call *tool.Call, in writeInput) (tool.Result, error) {
	f.changing.Lock()
	defer f.changing.Unlock()
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	p, err := f.locate(call, in.Path)
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	was, err := f.replaceable(p)
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	fresh := ""
	if was.sum == absent {
		fresh = "new, "
	}
	changes, err := f.replace(ctx, call, p, []byte(in.Content), was)
	r := tool.Text(fmt.Sprintf("Successfully wrote %s (%s%d lines, %d bytes)", p.Abs, fresh, countLines(in.Content), len(in.Content)))
	if err != nil {
		r = tool.Failure(pathErrorText(p, err))
	}
	r.Changes = changes
	return r, nil
}

// replaceable reads the state of a file that will be replaced, or returns the reason why it cannot
// be replaced.
func (f *Files) replaceable(p workdir.Path) (originalFile, error) {
	was, err := f.checkOverwrite(p)
	if errors.Is(err, fs.ErrNotExist) {
		return originalFile{sum: absent}, nil
	}
	if err == nil {
		err = writable(p)
	}
	return was, err
}

// writable checks that the file itself is writable, because a rename does not check that.
func writable(p workdir.Path) error {
	out, err := p.Root.OpenFile(p.Rel, os.O_WRONLY, 0)
	if err != nil {
		return errors.New(pathErrorText(p, err))
	}
	return out.Close()
}

// pathErrorText returns an error about a path, without a duplicate path or the name of the system call.
func pathErrorText(p workdir.Path, err error) string {
	if e, ok := errors.AsType[*workdir.PathError](err); ok {
		return e.Error()
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		err = e.Err
	}
	return (&workdir.PathError{Path: p.Abs, Err: err}).Error()
}

// openErrorText returns the reason why there is no file to read or change.
func openErrorText(p workdir.Path, err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "File not found: " + p.Abs
	}
	if info, wrong := p.Stat(); wrong == nil && info.IsDir() {
		return p.Abs + " is a directory, not a file: list it with Glob, or with ls in Bash"
	}
	return err.Error()
}

func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
