package modeltest

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var contentTypes = map[string]string{
	"stream": "text/event-stream; charset=utf-8",
	"json":   "application/json",
	"text":   "text/html",
}

var outcomes = []string{"deltas", "answer", "error"}

// recording is one file of testdata/stream in the txtar format: a comment, and sections that start with a
// line "-- name --".
type recording struct {
	comment  string
	names    []string // in order
	sections map[string]string
}

func readRecording(file string) (*recording, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s := &recording{sections: map[string]string{}}
	name := ""
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "-- "); ok {
			name = strings.TrimSuffix(rest, " --\n")
			s.names = append(s.names, name)
		} else if name == "" {
			s.comment += line
		} else {
			s.sections[name] += line
		}
	}
	return s, nil
}

func (s *recording) serve(t testing.TB) string {
	t.Helper()
	status := 200
	if text, ok := s.sections["status"]; ok {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			t.Fatal(err)
		}
		status = n
	}
	for name, contentType := range contentTypes {
		if body, ok := s.sections[name]; ok {
			return Serve(t, status, map[string]string{"Content-Type": contentType}, body)
		}
	}
	t.Fatal("the file has no stream, json or text section")
	return ""
}

// with returns the text of the file in which the outcome is r.
func (s *recording) with(r result) []byte {
	text := s.comment
	add := func(name, section string) { text += "-- " + name + " --\n" + section }
	for _, name := range s.names {
		if !slices.Contains(outcomes, name) {
			add(name, s.sections[name])
		}
	}
	for _, name := range outcomes {
		if section := r.sections()[name]; section != "" {
			add(name, section)
		}
	}
	return []byte(text)
}
