package supervisor

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
)

// The cases about variables, and about how a process is started.
func TestCorpus(t *testing.T) {
	cases := corpus.Area(t, "agentkit-commaagents-parachute.json", "cred", "entry")
	corpus.Claim(t, cases, map[string]func(*testing.T, corpus.Case){
		"cred": checkVariable,
		"pa-entry-004": corpus.Test(`{"given": {"session id env":"a/b"}, "when": ["start"], "expect": {"event":"error","exit":1}}`, func(t *testing.T, c corpus.Case) {
			var given map[string]string
			c.Decode(t, c.Setup(), &given)
			s := Spec{ID: given["session id env"], Args: []string{"true"}, Dir: "/"}
			if _, err := s.order(); !errors.Is(err, ErrSpec) {
				t.Errorf("%v", err)
			}
		}),
	}, map[string]string{
		"pa-cred-001":  "needs a container to inspect: package workspace has it",
		"pa-cred-021":  "about what an agent may: internal/workspace/vendoragent has it",
		"pa-cred-023":  "as pa-cred-021",
		"pa-cred-024":  "as pa-cred-021",
		"pa-entry-001": "about what an agent reads: internal/cli's command inside has it",
		"pa-entry-005": "about what an agent needs: package workspace has it",
		"pa-entry-007": "about resuming: package workspace has it",
		"pa-entry-009": "about the events of a turn: package workspace has it",
	})
}

func checkVariable(t *testing.T, c corpus.Case) {
	var given map[string]string
	var want map[string]bool
	c.Decode(t, c.Setup(), &given)
	c.Decode(t, c.Expect(), &want)
	name, ok := given["injected variable"]
	if _, says := want["applied"]; !ok || !says {
		t.Fatalf("not about a variable: %s %s", c.Setup(), c.Expect())
	}
	const secret = "made-up"
	err := CheckEnv([]string{"GOOD=1", name + "=" + secret})
	if (err == nil) != want["applied"] {
		t.Errorf("%s: %v", name, err)
	}
	if err != nil && strings.Contains(err.Error(), secret) {
		t.Errorf("the error tells the value: %v", err)
	}
}

// The class to which the cases belong.
func TestVariables(t *testing.T) {
	for _, name := range []string{
		"PATH", "HOME", "USER", "SHELL", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "PYTHONPATH", "PYTHONSTARTUP",
		"PYTHONHOME", "PYTHONINSPECT", "NODE_OPTIONS", "NODE_PATH", "BASH_ENV", "ENV", "IFS", "BASH_FUNC_ls", "PERL5OPT", "PERL5LIB", "RUBYOPT",
		"JAVA_TOOL_OPTIONS", "GIT_SSH_COMMAND", "GIT_EXEC_PATH", "GIT_CONFIG_COUNT", "GIT_CONFIG_VALUE_0", "EDITOR", "HTTP_PROXY",
		"https_proxy", "npm_config_script_shell", "GLIBC_TUNABLES", "PROMPT_COMMAND", "ZDOTDIR",
		"", "1BAD", "A-B", "A B", "A.B", "Ä", "A\nB", "A\x00", "BASH_FUNC_ls%%", " PATH", "PATH\t",
	} {
		err := CheckEnv([]string{name + "=made-up"})
		var e *EnvError
		if !errors.As(err, &e) || !errors.Is(err, ErrSpec) || strings.ContainsAny(err.Error(), "\n\x00") {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, entry := range []string{"GITHUB_TOKEN", "\x00", "=x", "A=b\x00c"} {
		if err := CheckEnv([]string{entry}); err == nil || strings.Contains(err.Error(), "GITHUB") {
			t.Errorf("%q: %v", entry, err)
		}
	}
	good := []string{
		"GITHUB_TOKEN=x", "ANTHROPIC_API_KEY=a=b", "_=x", "a1=", "CLAUDE_CODE_OAUTH_TOKEN=x", "LANG=C", "TZ=UTC", "HOLDFAST_HOME=/home/agent/.holdfast",
		"ENVIRONMENT=x", "PATHS=x", "MYLD_PRELOAD=x", "MULTI=a\nb", "SSL_CERT_FILE=/x",
	}
	if err := CheckEnv(good); err != nil {
		t.Error(err)
	}
	if err := CheckEnv(nil); err != nil {
		t.Error(err)
	}
}
