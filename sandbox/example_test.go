package sandbox_test

import (
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/sandbox"
)

func ExampleNewChecker() {
	settings := &sandbox.Settings{}
	if err := settings.Decode([]byte(`{
		"allowedReadPaths": ["/project/"],
		"deniedPaths": ["/project/secret/"],
		"deniedCommands": ["rm", "sudo"]
	}`)); err != nil {
		fmt.Println(err)
		return
	}
	c, err := sandbox.NewChecker(settings, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.CheckPath("src/main.go", "/project", policy.OpRead))
	fmt.Println(c.CheckPath("/project/secret/key", "", policy.OpRead))
	fmt.Println(c.IsPathAllowed("/project-backup/old.go", "", policy.OpRead))
	// Output:
	// <nil>
	// Permission denied for Read: path '/project/secret/key' is outside allowed read scope
	// false
}

func ExampleChecker_CheckCommand() {
	c, err := sandbox.NewChecker(&sandbox.Settings{DeniedCommands: []string{"rm"}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.CheckCommand("git commit -m 'rm old files'", "/project"))
	err = c.CheckCommand("make && sudo rm -rf build", "/project")
	if d, ok := errors.AsType[*sandbox.Denial](err); ok {
		fmt.Println(d.Reason, "by", d.Setting)
	}
	// Output:
	// <nil>
	// command 'rm' is denied by sandbox policy by deniedCommands
}

func ExampleSettings_Decode() {
	err := new(sandbox.Settings).Decode([]byte(`{"deniedPaths": ["/etc/**"]}`))
	if e, ok := errors.AsType[*sandbox.Error](err); ok {
		fmt.Println(e)
		fmt.Println("hint:", e.Hint())
	}
	// Output:
	// deniedPaths[0]: "/etc/**" is a pattern; want a path
	// hint: write the folder; it includes everything below it
}

func ExampleSettings_Check() {
	s := &sandbox.Settings{Ripgrep: &sandbox.Ripgrep{Command: "rg"}}
	fmt.Println(s.Check())
	// Output: ripgrep: it would have no effect: search is built in and starts no program
}
