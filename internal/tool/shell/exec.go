package shell

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/shellparse"
	"github.com/holdfast-dev/holdfast/internal/tool/override"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

type execInput struct {
	Program string   `json:"program" jsonschema:"The program: an absolute path, a path relative to the current directory, or a name to look up in PATH"`
	Args    []string `json:"args,omitempty" jsonschema:"The arguments, passed unchanged"`
	Timeout int64    `json:"timeout,omitempty" jsonschema:"In milliseconds; default 120000, maximum 600000"`
}

const execDescription = "Runs one program with arguments, without a shell: no expansion, pipes or redirects. " +
	"Standard input is empty, and long output is truncated in the middle."

// newExec returns the tool Exec. A call requests fs.exec of the program's file, and also the
// command that it would run.
func (s *Shell) newExec() (tool.Tool, error) {
	t, err := tool.New(tool.Spec{Name: "Exec", Description: execDescription}, s.exec, func(_ *tool.Call, in execInput) ([]policy.Request, error) {
		if in.Timeout < 0 {
			return nil, errors.New("timeout must not be negative")
		}
		r, err := ExecRequest(in.Program, in.Args, s.folders.Cwd(), s.path())
		r.Confined = s.opts.Sandbox != nil
		return []policy.Request{r}, err
	})
	if err == nil && s.opts.Override {
		t, err = override.AllowOverride(t)
	}
	return t, err
}

// ExecRequest returns the request of Exec in a folder, without its tool and sandbox. path is the
// PATH in which a program is looked up if its name contains no folder.
func ExecRequest(program string, args []string, cwd, path string) (policy.Request, error) {
	f, err := find(program, args, cwd, path)
	if err != nil {
		return policy.Request{}, err
	}
	line := shellparse.Canonical(append([]string{f.named}, args...)...)
	r := policy.Request{Operation: policy.OpExec, Resource: f.real, Line: line, Display: line, Cwd: cwd}
	if f.named != f.real {
		r.NamedPath = f.named
	}
	return r, nil
}

func (s *Shell) exec(ctx context.Context, call *tool.Call, in execInput) (tool.Result, error) {
	cwd, err := s.startDir()
	if err != nil {
		return s.missingDirResult(err), nil
	}
	f, err := find(in.Program, in.Args, s.folders.Cwd(), s.path())
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	limit := s.limit(bashInput{Timeout: in.Timeout})
	end, err := s.launch(ctx, call, command{program: f.real, args: append([]string{f.named}, in.Args...), dir: cwd, limit: limit}, false)
	if err != nil {
		return end.startFailure(err), nil
	}
	defer end.out.close()
	return end.result(limit), nil
}

// executable is the file of a program: the path that was given, and the path without links.
type executable struct{ named, real string }

// find finds the file of a program.
func find(program string, args []string, cwd, path string) (executable, error) {
	switch {
	case program == "":
		return executable{}, errors.New("program must not be empty")
	case strings.ContainsRune(program, 0) || slices.ContainsFunc(args, func(a string) bool { return strings.ContainsRune(a, 0) }):
		return executable{}, errors.New("program and args must not contain a NUL")
	case filepath.IsAbs(program):
		return resolveExecutable(program)
	case strings.ContainsRune(program, '/'):
		return resolveExecutable(cwd + "/" + program)
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if f, err := resolveExecutable(filepath.Join(dir, program)); err == nil {
			return f, nil
		}
	}
	return executable{}, fmt.Errorf("%s: not found in PATH", program)
}

// resolveExecutable checks whether a file that is about to be run is executable. Links are followed in
// the same way as by the kernel: "link/../x" is relative to the target of the link.
func resolveExecutable(named string) (executable, error) {
	target, err := filepath.EvalSymlinks(named)
	if err != nil {
		return executable{}, err
	}
	info, err := os.Stat(target)
	switch {
	case err != nil:
		return executable{}, err
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return executable{}, &fs.PathError{Op: "exec", Path: named, Err: errors.New("not an executable file")}
	}
	if strings.Contains(named, "/..") {
		named = target
	}
	return executable{filepath.Clean(named), target}, nil
}

// path returns the PATH in which the programs are looked up.
func (s *Shell) path() string {
	env := s.env
	if s.opts.Sandbox != nil {
		env = s.inside
	}
	for _, v := range slices.Backward(env) {
		if p, ok := strings.CutPrefix(v, "PATH="); ok {
			return p
		}
	}
	return "/usr/local/bin:/usr/bin:/bin"
}
