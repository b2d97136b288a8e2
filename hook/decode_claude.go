package hook

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// maxTimeout is the maximum timeout; a larger value probably has the wrong unit.
const maxTimeout = 24 * time.Hour

// group decodes one entry of Claude's form: {"matcher", "hooks"}.
func (d *blockDecoder) group(path string, event Event, n *jsontree.Node) {
	var matcher string
	var handlers *jsontree.Node
	known := map[string]nodeDecoder{
		"matcher": d.text(&matcher),
		"hooks":   func(_ string, n *jsontree.Node) { handlers = n },
	}
	if n.Kind == jsontree.Object && n.Field("hooks") == n && n.Field("command") != n {
		info, _ := event.info()
		hint := `write {"hooks": [{"type": "command", "command": ...}]}`
		if info.Seed != "" {
			hint += ", or " + info.Seed + " for the flat form"
		}
		d.report(path, n.At, hint, `want a list of "hooks", not a command`)
		return
	}
	ok := d.object(path, n, known)
	if handlers == nil {
		if ok {
			d.report(path, n.At, `write {"hooks": [{"type": "command", "command": ...}]}`, `"hooks" is missing`)
		}
		return
	}
	if _, err := compileMatcher(dialectClaude, event, matcher); err != nil {
		d.addErrorAt(err, path+".matcher", n.Field("matcher").At)
		ok = false
	}
	list, is := d.list(path+".hooks", handlers)
	if !is {
		return
	}
	for i := range list {
		sub := fmt.Sprintf("%s.hooks[%d]", path, i)
		if def, good := d.handler(sub, event, &list[i]); ok && good {
			def.Matcher = matcher
			d.add(sub, &list[i], def)
		}
	}
}

// Hook types of Claude Code that are not supported, with the reason.
var absentTypes = map[string]string{
	"mcp_tool": "hooks cannot call MCP tools",
	"prompt":   "hooks cannot ask a model",
	"agent":    "hooks cannot start an agent",
}

// handler decodes {"type", …}.
func (d *blockDecoder) handler(path string, event Event, n *jsontree.Node) (Definition, bool) {
	def := Definition{Event: event, Dialect: dialectClaude}
	if n.Kind != jsontree.Object {
		d.expected(path, n, "an object", `write {"type": "command", "command": ...}`)
		return def, false
	}
	kind := n.Field("type")
	why, absent := absentTypes[kind.Text]
	switch {
	case kind == n:
		d.report(path, n.At, `write "type": "command"`, `"type" is missing`)
		return def, false
	case absent && kind.Kind == jsontree.Text:
		d.report(path+".type", kind.At, `use a "command" hook, or remove the hook`, "hooks of type %q are not supported: %s", kind.Text, why)
		return def, false
	case kind.Kind != jsontree.Text || kind.Text != typeCommand && kind.Text != typeHTTP:
		d.report(path+".type", kind.At, `write "command" or "http"`, "unknown type %s", kind.Show())
		return def, false
	}
	var shell, rewake string
	common := map[string]nodeDecoder{
		"type":           func(string, *jsontree.Node) {},
		"if":             d.requiredText(&def.If),
		"timeout":        d.seconds(&def.Timeout),
		"statusMessage":  d.text(&def.Status),
		"once":           d.flag(&def.Once),
		"onFailure":      word(d, &def.OnFailure, failBlock, failContinue),
		"allowedEnvVars": d.texts(&def.Env, checkVariable),
	}
	command := map[string]nodeDecoder{
		"command":     d.requiredText(&def.Command),
		"args":        d.texts(&def.Args, func(string) (string, string) { return "", "" }),
		"shell":       d.shell(&shell),
		"async":       d.flag(&def.Async),
		"asyncRewake": d.rewake(&rewake),
		"sandbox":     word(d, &def.Sandbox, sandboxRead, sandboxWrite, sandboxOff),
	}
	http := map[string]nodeDecoder{
		"url":     d.url(&def.URL),
		"headers": d.headers(&def.Headers),
	}
	specific, other, must := command, http, "command"
	if kind.Text == typeHTTP {
		specific, other, must = http, command, "url"
	}
	known := maps.Clone(common)
	maps.Copy(known, specific)
	for name := range other {
		known[name] = func(path string, n *jsontree.Node) {
			d.report(path, n.At, "remove it", "it has no effect on hooks of type %q", kind.Text)
		}
	}
	ok := d.object(path, n, known)
	if m := n.Field(must); m == n || m.Kind == jsontree.Null {
		d.report(path, n.At, "", "%q is missing", must)
		return def, false
	}
	return def, d.fits(path, n, &def) && ok
}

// fits reports whether the fields of a handler can be combined with each other and with its event.
// It records an error for each field that cannot.
func (d *blockDecoder) fits(path string, n *jsontree.Node, def *Definition) bool {
	before := len(d.errs)
	if def.URL != "" && (def.Event == SessionStart || def.Event == Setup) {
		d.report(path+".type", n.Field("type").At, `write a "command"`, "%s supports only command hooks", def.Event)
	}
	if def.If != "" && !isToolEvent(def.Event) {
		d.report(path+".if", n.Field("if").At, `remove "if"`, "%s is not a tool event, so the hook would never run", def.Event)
	}
	if def.OnFailure != "" {
		switch {
		case def.Async:
			d.report(path+".onFailure", n.Field("onFailure").At, "remove one of them", `onFailure has no effect on an async hook`)
		case slices.Contains([]Event{Stop, SubagentStop, TaskCompleted, TeammateIdle}, def.Event):
			d.report(path+".onFailure", n.Field("onFailure").At, "remove it", "it has no effect on %s", def.Event)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(def.Headers)) {
		for v := range headerVariables(def.Headers[name]) {
			if !slices.Contains(def.Env, v) {
				d.report(path+".headers."+name, n.Field("headers").Field(name).At, `add it to "allowedEnvVars"`, "$%s would be empty", v)
			}
		}
	}
	return len(d.errs) == before
}

func isToolEvent(e Event) bool {
	info, _ := e.info()
	return info.Matches == "tool_name"
}

func (d *blockDecoder) seconds(into *time.Duration) nodeDecoder {
	return func(path string, n *jsontree.Node) {
		s, err := strconv.ParseFloat(n.Text, 64)
		switch {
		case n.Kind != jsontree.Number:
			d.expected(path, n, "a number of seconds", "")
		case err != nil || s > maxTimeout.Seconds():
			d.report(path, n.At, "write a number of seconds, at most 86400", "%s is too long", n.Text)
		case s < 1e-3:
			d.report(path, n.At, "write a number of seconds, at least 0.001", "%s is too short", n.Text)
		default:
			*into = time.Duration(s * float64(time.Second)).Round(time.Microsecond)
		}
	}
}

func (d *blockDecoder) shell(into *string) nodeDecoder {
	return func(path string, n *jsontree.Node) {
		if n.Kind == jsontree.Text && n.Text == "powershell" {
			d.report(path, n.At, `write it for bash, or start powershell with "args"`, "the powershell shell is not supported")
			return
		}
		word(d, into, "bash")(path, n)
	}
}

func (d *blockDecoder) rewake(into *string) nodeDecoder {
	return func(path string, n *jsontree.Node) {
		var on bool
		if d.flag(&on)(path, n); on {
			*into = n.Text
			d.report(path, n.At, `write "async": true; its result is read with the next turn`, "a hook cannot wake an agent that has stopped")
		}
	}
}

func checkVariable(name string) (what, hint string) {
	switch {
	case !isVariable(name):
		return fmt.Sprintf("invalid variable name %q", name), "write the name without $"
	case strings.HasPrefix(name, "OTEL_"):
		return name + " is never passed to hooks", "remove it"
	}
	return "", ""
}

func isVariable(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}
