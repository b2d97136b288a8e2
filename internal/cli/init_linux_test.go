package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// coderProvider is a provider whose models run one command and then answer.
func coderProvider(t *testing.T, key string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var body struct {
			Messages []struct{ Role string }
		}
		switch {
		case r.Header.Get("Authorization") != "Bearer "+key:
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":{"message":"incorrect key"}}`)
		case r.Method == http.MethodGet:
			_, _ = io.WriteString(w, `{"data":[{"id":"big-coder"},{"id":"small-coder"},{"id":"embed-1"}]}`)
		case json.NewDecoder(r.Body).Decode(&body) != nil || len(body.Messages) == 0:
			w.WriteHeader(http.StatusBadRequest)
		case body.Messages[len(body.Messages)-1].Role == "tool":
			_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"It is made."},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`)
		default:
			_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"I make it.","tool_calls":[{"id":"c1","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"touch made.txt\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// The first minutes of a new user: init, a run, an approval request, "always", and a second run without a
// request.
func TestFirstMinutes(t *testing.T) {
	s := coderProvider(t, "right-key")
	d := newLoginEnv(t, `{"providers": {"groq": {"baseURL": "`+s.URL+`/v1"}}}`)
	project := filepath.Join(d.dir, "project")
	for name, text := range map[string]string{".git/HEAD": "", "go.mod": "module example.com/m\n"} {
		file := filepath.Join(project, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ends := func(c *terminal) {
		t.Helper()
		if code := c.exit(); code != 0 {
			t.Fatalf("code %d: %s", code, c.screen())
		}
	}

	c := startTerminal(t, d.env, project, "init")
	c.expect(`mode \[default\]: `)
	c.press("9\n")
	c.expect(`type a number from 1 to 4, or a name`)
	c.press("acceptEdits\n")
	c.expect(`permissions.defaultMode acceptEdits: .*settings.json:\d+`)
	c.expect(`provider \[anthropic\]: `)
	c.press("groq\n")
	c.expect(`key of groq \(not echoed\): `)
	c.press("wrong-key\n")
	c.expect(`groq rejected this key \(HTTP 401: incorrect key\); it was not stored`)
	c.expect(`key of groq \(not echoed\): `)
	c.press("right-key\n")
	c.expect(`stored the key of groq in .*keys.json`)
	c.expect(`model \[big-coder\]: `)
	c.press("CODER\n")
	c.expect(`model \[big-coder\]: `)
	c.press("sma\n")
	c.expect(`model groq/small-coder: .*settings.json:\d+`)
	c.expect(`allow for \[none\]: `)
	c.press("\n")
	c.expect(`checks are ok`)
	c.exit() // depends on whether the sandbox works on this machine
	if strings.Contains(c.screen(), "right-key") || strings.Contains(c.screen(), "embed-1") {
		t.Errorf("what should not be on the screen: %s", c.screen())
	}

	c = startTerminal(t, d.env, project, "run", "make it")
	c.expect(`permission`)
	c.expect(`touch made.txt`)
	c.expect(`always allow in this project.*\n?.*and stop: `)
	c.press("p")
	c.expect(`choose the scope`)
	c.press("1")
	c.expect(`is allowed in this project, for you: .*project/.holdfast/settings.local.json:\d+`)
	c.expect(`It is made.`)
	ends(c)
	if err := os.Remove(filepath.Join(project, "made.txt")); err != nil {
		t.Fatal(err)
	}

	c = startTerminal(t, d.env, project, "run", "make it again")
	c.expect(`It is made.`)
	ends(c)
	if strings.Contains(c.screen(), "permission") {
		t.Errorf("asked again: %s", c.screen())
	}
	if _, err := os.Stat(filepath.Join(project, "made.txt")); err != nil {
		t.Error(err)
	}

	// a second init keeps the current values
	c = startTerminal(t, d.env, project, "init")
	c.expect(`mode \[acceptEdits\]: `)
	c.press("\n")
	c.expect(`groq .*key is stored; your current provider`)
	c.expect(`provider \[groq\]: `)
	c.press("\n")
	c.expect(`model \[small-coder\]: `)
	c.press("\n")
	c.expect(`allow for \[none\]: `)
	c.press("me\n")
	c.expect(`go build, go test, go vet, @go: .*settings.local.json`)
	c.expect(`checks are ok`)
	c.exit()
}
