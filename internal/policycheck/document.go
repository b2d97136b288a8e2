package policycheck

import (
	"maps"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
)

// Document is a complete policy in JSON.
type Document struct {
	Folder     string                    `json:"folder"`
	Project    string                    `json:"project"`
	Mode       policy.Mode               `json:"mode"`
	ModeFrom   *policy.Origin            `json:"mode_from,omitempty"`
	NoBypass   *policy.Origin            `json:"bypass_disabled_by,omitempty"`
	Layers     []settings.Layer          `json:"layers"`
	Rules      []Rule                    `json:"rules"`
	Folders    []Value                   `json:"folders"`
	Forbidden  []Value                   `json:"forbidden"`
	Sandboxes  []settings.Sandbox        `json:"sandbox"`
	OnAsk      settings.UnattendedPolicy `json:"on_ask,omitempty"`
	AskTimeout string                    `json:"ask_timeout,omitempty"`
	Ignored    []settings.Ignored        `json:"ignored"`
	Warnings   []settings.Problem        `json:"warnings"`
	Chains     []policy.Chain            `json:"chains"`
}

// Rule is a rule with its position.
type Rule struct {
	Effect policy.Effect `json:"effect"`
	policy.Origin
}

// Value is a value with its position.
type Value struct {
	Value  string        `json:"value"`
	Origin policy.Origin `json:"origin"`
}

// Describe returns the policy defined by settings, with the chains of the given tools; nil means
// the tools that access files, commands and hosts.
func Describe(s *settings.Settings, tools []string) (*Document, error) {
	config, err := s.Policy()
	if err != nil {
		return nil, err
	}
	all, err := policy.New(&config)
	if err != nil {
		return nil, err
	}
	d := &Document{
		Folder: s.Cwd(), Project: s.Project, Mode: all.Mode(), NoBypass: s.NoBypass, OnAsk: s.OnAsk.Value,
		Layers: s.Layers, Sandboxes: s.Sandboxes, Ignored: s.Ignored, Warnings: s.Warnings,
		Rules: []Rule{}, Folders: values(s.Folders), Forbidden: values(s.Forbidden), Chains: []policy.Chain{},
	}
	if s.Mode.Value != "" {
		d.ModeFrom = &s.Mode.Origin
	}
	if t := s.AskTimeout.Value; t > 0 {
		d.AskTimeout = t.String()
	}
	for _, r := range s.Rules {
		d.Rules = append(d.Rules, Rule{r.Effect, policy.Origin{Rule: r.Text, Layer: r.Layer, File: r.File, Line: r.Line, Col: r.Col}})
	}
	if len(tools) == 0 {
		for _, name := range slices.Sorted(maps.Keys(toolFields)) {
			if toolFields[name].op != "" && toolFields[name].fields != nil {
				tools = append(tools, name)
			}
		}
	}
	for _, t := range tools {
		d.Chains = append(d.Chains, all.Guard(t).Chain())
	}
	return d, nil
}

func values(list []settings.Value[string]) []Value {
	out := []Value{}
	for _, v := range list {
		out = append(out, Value{v.Value, v.Origin})
	}
	return out
}
