package tools

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/instructions"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// InstructionsOf reads the instruction files of a session that works in cwd. If the parameter none
// is true, only managed files are read.
func InstructionsOf(e *env.Env, s *settings.Settings, cwd string, folders []string, none bool, perms *policy.Config) (*instructions.Set, error) {
	home, err := e.Home()
	if err != nil {
		return nil, err
	}
	cwd, err = filepath.EvalSymlinks(cwd)
	if err != nil {
		return nil, err
	}
	root := s.Project
	if rel, err := filepath.Rel(root, cwd); root == "" || err != nil || rel != "." && !filepath.IsLocal(rel) {
		root = cwd
	}
	trust, err := s.TrustedTexts()
	if err != nil {
		return nil, err
	}
	managed := e.Managed
	if managed == "" {
		managed = settings.DefaultManaged
	}
	o := instructions.Options{
		Cwd: cwd, Root: root, Folders: folders, Home: home, User: e.UserHome(), Managed: filepath.Dir(managed),
		Mode: instructions.Mode(s.Texts.Mode.Value), Denied: whyUnreadable(perms), Trusted: trust.Folder,
	}
	if none {
		o.Mode = instructions.None
	}
	for _, e := range s.Texts.Excludes {
		o.Excludes = append(o.Excludes, e.Value)
	}
	return instructions.Load(&o)
}

// whyUnreadable returns a function that returns the reason why a rule or a limit prevents the model
// from reading a file; "" if none does.
func whyUnreadable(c *policy.Config) func(path string) string {
	return func(path string) string {
		r := policy.Request{Tool: "Read", Operation: policy.OpRead, Resource: path, ReadOnly: true}
		for _, l := range c.Limits {
			if v := l.Evaluate(r); v.Effect == policy.Deny {
				return v.Reason
			}
		}
		if v := c.Rules.Evaluate(r); v.Effect == policy.Deny {
			return v.Reason
		}
		return ""
	}
}

// loadInstructions reads the instruction files for a toolbox.
func (b *Toolbox) loadInstructions(cwd string) error {
	if b.env == nil || b.settings == nil || b.spec == nil {
		return nil
	}
	var err error
	folders := slices.DeleteFunc(b.folders.Roots(), func(dir string) bool { return dir == b.memory }) // the notes of a memory are not instructions
	b.Instructions, err = InstructionsOf(b.env, b.settings, cwd, folders, b.spec.Instructions.NoContextFiles, &b.Permissions)
	if err == nil {
		set := b.Instructions
		b.onClose(func() { _ = set.Close() })
	}
	return err
}

// AgentInstructions returns the instructions in the form that package agent uses.
func (b *Toolbox) AgentInstructions() agent.Instructions {
	if b.Instructions == nil {
		return agent.Instructions{}
	}
	in := agent.Instructions{Text: b.Instructions.Text()}
	for _, f := range b.Instructions.Files() {
		in.Loaded = append(in.Loaded, loadedFile(f))
	}
	return in
}

func loadedFile(f instructions.File) hook.Input {
	return hook.Input{
		Event: hook.InstructionsLoaded,
		File: hook.File{
			Path: f.Path, Memory: string(f.Memory), LoadReason: string(f.Reason), Globs: f.Globs, TriggerFile: f.Trigger, ParentFile: f.Parent,
		},
	}
}

// Observe resets the nested instructions and skills when the transcript is rewritten, so that the
// model gets them again, and clears the skills that a turn has called.
func (b *Toolbox) Observe(_ string, e event.Event) {
	switch e.(type) {
	case event.TranscriptRewritten:
		if b.Instructions != nil {
			b.Instructions.Forget()
		}
		b.skills.Forget()
	case event.TurnFinished:
		b.skills.EndTurn()
	}
}

// instructionReader is the Read tool, which also returns the instruction files that apply to the
// file read.
type instructionReader struct {
	tool.Tool
	b *Toolbox
}

func (r instructionReader) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	out, err := r.Tool.Run(ctx, call)
	if err != nil || out.IsError {
		return out, err
	}
	var in struct {
		Path string `json:"file_path"`
	}
	if json.Unmarshal(call.Input, &in) != nil {
		return out, nil //nolint:nilerr // the file was read
	}
	p, err := r.b.folders.Locate(in.Path)
	if err != nil || !r.b.Instructions.Pending(p.Abs) {
		return out, nil //nolint:nilerr // the file was read
	}
	files := r.b.Instructions.Nested(p.Abs)
	if len(files) == 0 {
		return out, nil
	}
	for _, f := range files {
		if _, err := r.b.agentHandle.fire(ctx, loadedFile(f)); err != nil {
			return out, err
		}
	}
	text := "[instruction files for the file you read]\n" + r.b.Instructions.Render(files)
	out.Content = append(out.Content, transcript.Text{Text: text})
	return out, nil
}

// withInstructions wraps the Read tool of a kit.
func (b *Toolbox) withInstructions(tools []tool.Tool) []tool.Tool {
	if b.Instructions == nil {
		return tools
	}
	for i, t := range tools {
		if t.Spec().Name == "Read" {
			tools[i] = instructionReader{t, b}
		}
	}
	return tools
}
