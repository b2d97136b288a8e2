// Package demo contains the project and the model script of `holdfast demo`: a small shell project with a bug,
// and an agent that finds and fixes it. The agent is killed during its work, and resumed.
//
//	Unpack ──► calendar.sh test.sh walk.sh    Script ──► look, test, search, read, edit,
//	             ▲                                       verify ✗ killed … check, verify, done
//	             └──────── tools of the agent ◄────────── scripted model
//
// The shortest use:
//
//	err := demo.Unpack(dir)
//	m, err := scripted.New(demo.Script(), nil)
//
// Package cli runs and kills the agent.
package demo

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
)

// Prompt is the user's prompt.
const Prompt = "One of the tests fails. Find out why, fix it, and make sure all tests pass."

// KillAtUse is the ID of the tool use during which the agent is to be killed. It runs for about a second, and
// the project's bug is fixed by then.
const KillAtUse = "verify"

// ResumedUse is the id of the first tool use after the interruption.
const ResumedUse = "check"

//go:embed project
var project embed.FS

//go:embed script.yaml
var script string

// Unpack writes the project's files into a folder, which is created if
// necessary. Files that exist are an error.
func Unpack(dir string) error {
	files, err := fs.Sub(project, "project")
	if err == nil {
		err = os.CopyFS(dir, files)
	}
	if err != nil {
		return fmt.Errorf("unpack the demo: %w", err)
	}
	return nil
}

// Script returns the model script, for package scripted. With the tools Glob, Grep, Read, Edit and Bash it
// runs to its end, whether the run is killed during [KillAtUse] or not.
func Script() []byte { return []byte(script) }
