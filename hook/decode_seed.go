package hook

import (
	"math"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// seed decodes one entry of the Open Agent SDK's form: {"command", "matcher", "timeout"}, and
// Holdfast's additional fields.
func (d *blockDecoder) seed(path string, event Event, n *jsontree.Node) {
	def := Definition{Event: event, Dialect: dialectSeed}
	if n.Kind == jsontree.Object && n.Field("hooks") != n {
		d.report(path, n.At, "write "+string(event)+` for that form, or {"command": ...}`, `want a command, not a group with "hooks"`)
		return
	}
	ok := d.object(path, n, map[string]nodeDecoder{
		"command":        d.requiredText(&def.Command),
		"matcher":        d.text(&def.Matcher),
		"timeout":        d.milliseconds(&def.Timeout),
		"onFailure":      word(d, &def.OnFailure, failBlock, failContinue),
		"sandbox":        word(d, &def.Sandbox, sandboxRead, sandboxWrite, sandboxOff),
		"allowedEnvVars": d.texts(&def.Env, checkVariable),
	})
	if !ok {
		return
	}
	if def.Command == "" {
		d.report(path, n.At, `write {"command": ...}`, `"command" is missing: the hook would do nothing`)
		return
	}
	if _, err := compileMatcher(dialectSeed, event, def.Matcher); err != nil {
		d.addErrorAt(err, path+".matcher", n.Field("matcher").At)
		return
	}
	d.add(path, n, def)
}

// milliseconds decodes a time; 0 and negative values become 1 ms.
func (d *blockDecoder) milliseconds(into *time.Duration) nodeDecoder {
	return func(path string, n *jsontree.Node) {
		ms, err := strconv.ParseFloat(n.Text, 64)
		switch {
		case n.Kind != jsontree.Number:
			d.expected(path, n, "a number of milliseconds", "")
		case err != nil || ms > float64(maxTimeout.Milliseconds()):
			d.report(path, n.At, "write a number of milliseconds, at most 86400000", "%s is too long", n.Text)
		case ms != math.Trunc(ms):
			d.report(path, n.At, "write a whole number of milliseconds", "%s is not a whole number", n.Text)
		default:
			*into = time.Duration(max(ms, 1)) * time.Millisecond
		}
	}
}
