package codex

import (
	"context"
	"encoding/json"
	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
)

// Driver is Codex. The zero value starts `codex`.
type Driver struct {
	Start []string // the command in place of "codex"
}

// Name is "codex".
func (Driver) Name() string { return "codex" }

// Command starts the app server. A key in the turn's environment is used for this process
// alone and is not kept in the agent's home.
func (d Driver) Command(t vendor.Turn) vendor.Command {
	args := slices.Clone(d.Start)
	if len(args) == 0 {
		args = []string{"codex"}
	}
	args = append(args, "app-server", "-c", "check_for_update_on_startup=false", "-c", "analytics.enabled=false",
		"-c", "features.unbounded_connection_retries=false", // a model that cannot be reached ends the turn
		"-c", "features.shell_snapshot=false") // it has the environment in it, credentials too, and is kept in the home
	if key(t.Env) != "" {
		args = append(args, "-c", `cli_auth_credentials_store="ephemeral"`)
	}
	if base := variable(t.Env, baseVariable); base != "" {
		args = append(args, "-c", "model_providers."+provider+"="+server(base), "-c", "model_provider="+tomlString(provider))
	}
	return vendor.Command{Args: args}
}

// baseVariable has the address of a model server that is not the vendor's own, and
// provider is what Codex is told to call it. A session stays with its provider: one that
// was begun with another is not resumed.
const (
	baseVariable = "OPENAI_BASE_URL"
	provider     = "holdfast"
)

// server describes a model server of others. Few of them know the websocket that the
// vendor's own has, and Codex waits 15 seconds for one that does not answer there.
func server(base string) string {
	return "{name=" + tomlString(baseVariable) + ",base_url=" + tomlString(base) +
		`,wire_api="responses",requires_openai_auth=true,supports_websockets=false}`
}

// tomlString is a string of TOML, which look the same as JSON's.
func tomlString(s string) string {
	b, _ := json.Marshal(s) // of a string
	return string(b)
}

// key is the API key in an environment, or "".
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

// threadID is what Codex calls its sessions.
var threadID = lazyregexp.Must(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// Transcript is a pattern for [vendor.Find]: the file's folders and the beginning of its
// name say when the session was begun.
func (Driver) Transcript(session, _ string) string {
	if !threadID().MatchString(session) {
		return ""
	}
	return ".codex/sessions/*/*/*/rollout-*-" + session + ".jsonl"
}

// Run leads the process through one turn.
func (Driver) Run(ctx context.Context, t vendor.Turn, p vendor.Process, s vendor.Sink) (vendor.End, error) {
	r := newRun(ctx, t, p, s)
	defer r.close()
	return r.serve()
}
