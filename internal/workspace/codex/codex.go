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

// Command returns the command that starts the app server. An API key in the turn's environment is
// used only for this process. It is not stored in the agent's home folder.
func (d Driver) Command(t vendor.Turn) vendor.Command {
	args := slices.Clone(d.Start)
	if len(args) == 0 {
		args = []string{"codex"}
	}
	args = append(args, "app-server", "-c", "check_for_update_on_startup=false", "-c", "analytics.enabled=false",
		"-c", "features.unbounded_connection_retries=false", // a model that cannot be reached ends the turn
		"-c", "features.shell_snapshot=false") // a snapshot would store the environment, with its credentials, in the home folder
	if apiKey(t.Env) != "" {
		args = append(args, "-c", `cli_auth_credentials_store="ephemeral"`)
	}
	if base := lookupEnv(t.Env, baseVariable); base != "" {
		args = append(args, "-c", "model_providers."+provider+"="+serverConfig(base), "-c", "model_provider="+tomlString(provider))
	}
	return vendor.Command{Args: args}
}

// baseVariable is the environment variable with the address of a model server that is not the
// vendor's. provider is the name of that server in Codex's configuration. A session belongs to its
// provider and cannot be resumed with another one.
const (
	baseVariable = "OPENAI_BASE_URL"
	provider     = "holdfast"
)

// serverConfig returns the configuration of another model server, without the websocket of the vendor's
// server. Few other servers support it, and Codex would wait 15 seconds for an answer on it.
func serverConfig(base string) string {
	return "{name=" + tomlString(baseVariable) + ",base_url=" + tomlString(base) +
		`,wire_api="responses",requires_openai_auth=true,supports_websockets=false}`
}

// tomlString returns a TOML string, which has the syntax of a JSON string.
func tomlString(s string) string {
	b, _ := json.Marshal(s) // a string cannot fail
	return string(b)
}

// apiKey returns the API key in an environment, or "" if there is none.
func apiKey(env []string) string {
	if k := lookupEnv(env, "CODEX_API_KEY"); k != "" {
		return k
	}
	return lookupEnv(env, "OPENAI_API_KEY")
}

func lookupEnv(env []string, name string) string {
	for _, v := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// threadID matches Codex's session ids.
var threadID = lazyregexp.Must(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// Transcript returns a pattern for [vendor.Find], because the folders and the file's name contain
// the start time of the session. It returns "" for an invalid session id.
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
