package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/docgen"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// whatToDo has the advice for each outcome, by its code.
var whatToDo = map[string]string{
	"ok":                     "",
	"failed":                 "Read the message and the hint; find the message below.",
	"usage":                  "Read `holdfast COMMAND --help`, or the route in the [HTTP reference](http.md).",
	"denied":                 "`holdfast policy explain TOOL INPUT` shows which rule or mode denies a call.",
	"approval":               "Answer it: `holdfast approvals list`, then `holdfast approvals allow ID`.",
	"limit":                  "Resume with a higher `--max-turns` or `--max-budget-usd`.",
	"sandbox":                "`holdfast doctor` shows what is missing. See [the sandbox](sandbox.md).",
	"busy":                   "Wait until the other process ends, or use `--takeover`.",
	"corrupt":                "`holdfast sessions verify SESSION`, then `holdfast sessions repair SESSION`. If a newer version wrote the log, install it.",
	"not_found":              "`holdfast sessions list --all` or `holdfast workspace list`.",
	"no_engine":              "Start Docker; build the image with `holdfast workspace image build`.",
	"full":                   "Delete files in the workspace, or raise `--disk` with `holdfast workspace set`.",
	"exec_failed":            "Read the message; `holdfast doctor` checks the sandbox.",
	"exec_denied":            "Check the mode of the file and the sandbox settings.",
	"exec_missing":           "Check the name and PATH.",
	"interrupted":            "Resume: `holdfast run --continue`.",
	"terminated":             "Resume: `holdfast run --continue`.",
	"unauthenticated":        "Send a token: `holdfast daemon token create NAME --scope read`.",
	"forbidden":              "Use a token with the scope that the route needs.",
	"method_not_allowed":     "Use a method of the `Allow` header.",
	"conflict":               "Read the current state, then decide again.",
	"precondition_failed":    "Read the resource again and send its new `ETag`.",
	"too_large":              "Send at most 1 MiB.",
	"unsupported_media_type": "Send `Content-Type: application/json`.",
	"idempotency_key_reused": "Use a new `Idempotency-Key` for a new request.",
	"precondition_required":  "Send `If-Match` with the `ETag` of the resource, or `*`.",
	"not_offered":            "`GET /v1/info` lists what this daemon can do.",
	"unavailable":            "Repeat the request after `Retry-After`.",
	"no_space":               "Free space on the disk of the store, then repeat the request.",
}

// docs/reference/errors.md lists the outcomes, and the errors with a hint by their text.
func TestReferenceErrors(t *testing.T) {
	outcomes := func(list []outcome.Outcome) string {
		var rows [][]string
		for _, o := range list {
			todo, ok := whatToDo[o.Code]
			if !ok {
				t.Errorf("whatToDo does not say what to do about %s", o.Code)
			}
			rows = append(rows, []string{docgen.Code(o.Code), fmt.Sprint(o.Exit), fmt.Sprint(o.Status), docgen.Text(o.Meaning), todo})
		}
		return docgen.Table([]string{"code", "exit", "status", "meaning", "what to do"}, rows)
	}
	var b strings.Builder
	for section, rows := range errorRows(t) {
		if len(rows) > 0 {
			fmt.Fprintf(&b, "\n### %s\n\n%s", sections[section].name, docgen.Table([]string{"message", "what to do"}, rows))
		}
	}
	docgen.Page(t, "reference/errors.md", `# Errors

An error has a message, a hint and a code. Search this page for the message. In the messages below, "…" stands for a name, a path or a number.

`+"```"+`
holdfast: find session x: no such session
hint: holdfast sessions list
`+"```"+`

With `+"`--json`"+` the same is [one JSON object](output.md#standard-output-and-standard-error); over HTTP it is a [problem](http.md).

## Codes

The exit code of a command and the HTTP status of a response depend on the code.

`+outcomes(outcome.All())+`
These codes are of HTTP requests only. A command of the command line that receives one ends with the exit code.

`+outcomes(outcome.Requests())+`
## Messages

The messages with a hint, by what they are about. [All texts](../texts.md) has all messages.
`+b.String())
}

// refusals are what the sandbox reports about a command: their texts are put together from parts, so
// docgen.Messages does not find them. Hint is what to do, in Markdown.
var refusals = []sandbox.Violation{
	{Kind: "host", Subject: "…", Op: "connect", Setting: "network.allowedDomains", Hint: "`holdfast sandbox allow --host HOST`"},
	{Kind: "host", Subject: "…", Op: "connect", Reason: "it resolves to the private address …", Hint: "`holdfast sandbox allow --host HOST --host ADDRESS:PORT`"},
	{Kind: "path", Subject: "…", Op: "write", Setting: "allowedWritePaths", Hint: "`holdfast sandbox allow --write FOLDER`"},
	{Kind: "path", Subject: "…", Op: "read", Reason: "it contains a login", Hint: "`holdfast sandbox allow --read FILE`"},
	{Kind: "syscall", Subject: "…", Setting: "network.allowUnixSockets", Hint: "[it works outside but not in the sandbox](../sandbox.md#it-works-outside-but-not-in-the-sandbox)"},
}

// sections are the parts of the index, by the packages that contain their messages. The first match wins.
var sections = []struct{ name, packages string }{
	{"Command line", "internal/cli internal/spelling"},
	{"Models and keys", "model internal/providers internal/compose/models internal/compose/keys internal/runmodel"},
	{"Settings and policy", "internal/settings policy internal/policycheck internal/patterns internal/importsettings internal/yamltree internal/jsontree internal/savedrule audit/secret"},
	{"Sandbox", "sandbox internal/sandbox internal/confine"},
	{"Hooks, MCP, tools and sub-agents", "hook internal/tool tool internal/agentdef internal/instructions internal/mcpserver internal/compose/hooks"},
	{"Sessions, stores and the audit trail", "session internal/session audit internal/audit internal/checkpoint internal/rewind internal/s3 internal/redis internal/aws transcript approval"},
	{"Workspaces", "internal/workspace internal/supervisor"},
	{"Daemon", "internal/daemon daemon internal/listen"},
	{"Other", ""},
}

// errorRows returns the rows of each section.
func errorRows(t *testing.T) [][][]string {
	rows := make([][][]string, len(sections))
	for _, m := range docgen.Messages(t) {
		if !m.Error || m.Hint == "" || m.Text == "" || strings.Trim(docgen.Plain(m.Text), "… ") == "" {
			continue
		}
		i := slices.IndexFunc(sections, func(s struct{ name, packages string }) bool {
			return s.packages == "" || slices.ContainsFunc(strings.Fields(s.packages), func(p string) bool { return m.Package == p || strings.HasPrefix(m.Package, p+"/") })
		})
		rows[i] = append(rows[i], []string{docgen.Text(docgen.Plain(m.Text)), docgen.Text(docgen.Plain(m.Hint))})
	}
	i := slices.IndexFunc(sections, func(s struct{ name, packages string }) bool { return s.name == "Sandbox" })
	for _, v := range refusals {
		rows[i] = append(rows[i], []string{docgen.Text("sandbox: " + v.String()), v.Hint})
	}
	for _, r := range rows {
		slices.SortFunc(r, slices.Compare)
	}
	return rows
}
