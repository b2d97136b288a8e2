//go:build linux

package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestServer(t *testing.T) {
	s, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ path, body, call, text string }{
		{"/v1/messages", `{"stream":true,"tools":[{"name":"Bash"}]}`, `"name":"Bash"`, `"text_delta"`},
		{"/v1/responses", `{"stream":true,"tools":[{"name":"exec_command"}]}`, `"function_call"`, `"output_text"`},
		{"/v1beta/models/m:streamGenerateContent", `{"tools":[{"functionDeclarations":[{"name":"run_shell_command"}]}]}`, `"functionCall"`, `"text":"done"`},
	} {
		s.begin(1, "done", nil)
		for _, step := range []struct{ body, want string }{{`{}`, "done"}, {tt.body, tt.call}, {tt.body, tt.text}} {
			res, err := http.Post(s.url+tt.path, "application/json", strings.NewReader(step.body))
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil || !strings.Contains(string(b), step.want) {
				t.Errorf("%s: %s, %v; want %s", tt.path, b, err, step.want)
			}
		}
		if len(s.arrived) != 2 || s.all != 3 {
			t.Errorf("%s: %d requests with a shell tool of %d, want 2 of 3", tt.path, len(s.arrived), s.all)
		}
	}
}

func TestPromptWithoutMarks(t *testing.T) {
	r := request{Tools: []byte(`[]`), Messages: []byte(`[{"text":"a","cache_control":{"type":"ephemeral"}}]`)}
	if got := r.prompt(); got != `[][{"text":"a"}]` {
		t.Error(got)
	}
	if common("abc", "abd") != 2 || common("ab", "abc") != 2 {
		t.Error("the beginning that two texts share")
	}
}
