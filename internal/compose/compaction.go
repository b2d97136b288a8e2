package compose

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/runspec"
)

// compaction returns when and how a run compacts its transcript: as set in the spec, else in Claude
// Code's variables, else in the settings. An invalid variable is an error.
func compaction(e *env.Env, spec *runspec.Spec, s *settings.Settings) (agent.Compact, error) {
	c := s.Compaction
	o := agent.Compact{Disabled: !c.Auto.Value, Threshold: c.Share.Value, Items: c.Items.Value, KeepTokens: c.KeepTokens.Value}
	over, err := newCompactOverrides(e, spec)
	if err != nil {
		return o, err
	}
	o.Disabled = over.off || o.Disabled && over.items == 0
	o.Threshold = cmp.Or(over.share, o.Threshold)
	o.Items = cmp.Or(over.items, o.Items)
	o.Steps, err = compactSteps(s)
	return o, err
}

// compactOverrides are the values that take precedence over the settings.
type compactOverrides struct {
	off   bool
	share float64
	items int
}

func newCompactOverrides(e *env.Env, spec *runspec.Spec) (o compactOverrides, err error) {
	if spec.Compaction.Items < 0 || spec.Compaction.Items > 0 && spec.Compaction.Items < 4 {
		return o, outcome.Invalid("--compact-items: less than 4 items cannot be compacted", "omit it: the model's context is the limit")
	}
	for _, name := range []string{"DISABLE_AUTO_COMPACT", "DISABLE_COMPACT"} {
		off, err := parseBool(e.Lookup(name))
		if err != nil {
			return o, outcome.Invalid(name+": "+err.Error(), "set it to 1, or unset it")
		}
		o.off = o.off || off
	}
	if text := e.Lookup("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"); text != "" {
		percent, err := strconv.Atoi(text)
		if err != nil || percent < 1 || percent > 100 {
			return o, outcome.Invalid(fmt.Sprintf("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: invalid percentage %q", text), "set it to a number from 1 to 100, or unset it")
		}
		o.share = float64(percent) / 100
	}
	switch {
	case spec.Compaction.Disabled:
		o.off = true
	case spec.Compaction.Items > 0:
		o.off, o.items = false, spec.Compaction.Items
	}
	return o, nil
}

// compactSettings returns the same values as settings, for an agent in another process.
func compactSettings(e *env.Env, spec *runspec.Spec) (list []string, err error) {
	o, err := newCompactOverrides(e, spec)
	switch {
	case err != nil:
		return nil, err
	case o.off:
		list = append(list, `{"compact": {"auto": false}}`)
	case o.items > 0:
		list = append(list, fmt.Sprintf(`{"compact": {"auto": true, "items": %d}}`, o.items))
	}
	if o.share > 0 {
		list = append(list, fmt.Sprintf(`{"compact": {"share": %g}}`, o.share))
	}
	return list, nil
}

// parseBool parses a boolean environment variable.
func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "", "0", "false", "no", "off":
		return false, nil
	case "1", "true", "yes", "on":
		return true, nil
	}
	return false, fmt.Errorf("invalid value %q; want 1 or 0", text)
}

// compactSteps creates the compaction steps that the settings define; nil means the agent's default
// steps.
func compactSteps(s *settings.Settings) (list []agent.Mutator, err error) {
	for _, step := range s.Compaction.Steps.Value {
		r := agent.CompactionStep{Step: step.Name, Items: step.Items, Tokens: s.Compaction.KeepTokens.Value}
		if step.Name == "redact" {
			r.Mask, err = s.Masker()
			if err == nil && r.Mask == nil { // stored text is not masked
				r.Mask, err = secret.New(nil)
			}
			if err != nil {
				return nil, err
			}
		}
		list = append(list, r)
	}
	return list, nil
}
