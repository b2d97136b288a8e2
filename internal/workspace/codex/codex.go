package codex

import (
	"context"
	"encoding/json"
	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
)

// Driver drives Codex. The zero value starts `codex`.
type Driver struct {
	Start []string // the command; default "codex"
}

// Name implements [vendor.Driver].
func (Driver) Name() string { return "codex" }

// Command returns the command that starts the app server. A key in the turn's environment is used only for this
// process and is not stored in the agent's home.
func (d Driver) Command(t vendor.Turn) vendor.Command {
	args := slices.Clone(d.Start)
	if len(args) == 0 {
		args = []string{"codex"}
	}
	args = append(args, "app-server", "-c", "check_for_update_on_startup=false", "-c", "analytics.enabled=false",
		"-c", "features.unbounded_connection_retries=false", // an unreachable model ends the turn
		"-c", "features.shell_snapshot=false") // it contains the environment with credentials, and is stored in the home
	if key(t.Env) != "" {
		args = append(args, "-c", `cli_auth_credentials_store="ephemeral"`)
	}
	if base := variable(t.Env, baseVariable); base != "" {
		args = append(args, "-c", "model_providers."+provider+"="+server(base), "-c", "model_provider="+tomlString(provider))
	}
	return vendor.Command{Args: args}
}

// baseVariable has the address of a model server other than the vendor's, and provider is its name in Codex. A
// session belongs to its provider: it cannot be resumed with another.
const (
	baseVariable = "OPENAI_BASE_URL"
	provider     = "holdfast"
)

// server configures another model server. Few of them support the websocket of the vendor's server, and without an
// answer Codex waits 15 seconds for it.
func server(base string) string {
	return "{name=" + tomlString(baseVariable) + ",base_url=" + tomlString(base) +
		`,wire_api="responses",requires_openai_auth=true,supports_websockets=false}`
}

// tomlString returns a TOML string, which has the syntax of a JSON string.
func tomlString(s string) string {
	b, _ := json.Marshal(s) // a string cannot fail
	return string(b)
}

// key returns the API key in an environment, or "".
func key(env []string) string {
	if k := variable(env, "CODEX_API_KEY"); k != "" {
		return k
	}
	return variable(env, "OPENAI_API_KEY")
}

func variable(env []string, name string) string {
	for _, v := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// threadID matches Codex's session ids.
var threadID = lazyregexp.Must(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// Transcript returns a pattern for [vendor.Find]: the folders and the beginning of the file's name are the start
// time of the session.
func (Driver) Transcript(session, _ string) string {
	if !threadID().MatchString(session) {
		return ""
	}
	return ".codex/sessions/*/*/*/rollout-*-" + session + ".jsonl"
}

// Run runs one turn.
func (Driver) Run(ctx context.Context, t vendor.Turn, p vendor.Process, s vendor.Sink) (vendor.End, error) {
	r := newRun(ctx, t, p, s)
	defer r.close()
	return r.serve()
}
