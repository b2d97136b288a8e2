package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/holdfast-dev/holdfast/sandbox"
)

// report is the target of --json-report: a file, or an inherited descriptor.
type report struct {
	file *os.File
	fd   int
}

// openReport is called before the command runs, so that a file that cannot be written is reported
// at once.
func openReport(where, dir string) (*report, error) {
	if where == "" {
		return nil, nil
	}
	if fd, err := strconv.Atoi(where); err == nil && fd >= 0 {
		return &report{fd: fd}, nil
	}
	if !filepath.IsAbs(where) {
		where = filepath.Join(dir, where)
	}
	f, err := os.OpenFile(where, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, &NotRun{Kind: NotConfined, err: fmt.Errorf("--json-report: %w", err)}
	}
	return &report{file: f}, nil
}

// exitDoc is the JSON document that is written.
type exitDoc struct {
	ExitCode int    `json:"exit_code"` // -1 if a signal ended it
	Signal   string `json:"signal,omitempty"`
	*sandbox.Report
}

// write writes how a command ended to the target, and closes the target. A nil state means that the
// command did not run.
func (r *report) write(s *sandbox.State, result *sandbox.Report) error {
	if r == nil {
		return nil
	}
	e := exitDoc{ExitCode: -1, Report: result}
	if s != nil {
		e.ExitCode = s.ExitCode()
		if s.Status.Signaled() {
			e.Signal = s.Status.Signal().String()
		}
	}
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f := r.file
	if f == nil {
		f = os.NewFile(uintptr(r.fd), "descriptor "+strconv.Itoa(r.fd))
	}
	_, err = f.Write(append(b, '\n'))
	return errors.Join(err, f.Close())
}
