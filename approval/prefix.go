package approval

import (
	"strings"

	"github.com/holdfast-dev/holdfast/internal/shellparse"
	"github.com/holdfast-dev/holdfast/policy"
)

// subcommands is the number of words after a program's name that determine what it does. The wider
// scope of a command ends after them. Programs that are not listed never get a wider scope. This
// includes all programs that run other programs: shells, interpreters, sudo, env, xargs, docker,
// ssh, npx, make.
var subcommands = map[string]int{
	"git": 1, "gh": 2, "go": 1, "cargo": 1, "npm": 1, "pnpm": 1, "yarn": 1, "bun": 1, "pip": 1, "pip3": 1, "uv": 1, "poetry": 1,
	"bundle": 1, "composer": 1, "dotnet": 1, "swift": 1, "gradle": 1, "mvn": 1, "helm": 1, "kubectl": 1, "terraform": 1, "brew": 1,
	"pytest": 0, "jest": 0, "vitest": 0, "tsc": 0, "eslint": 0, "prettier": 0, "mypy": 0, "ruff": 0, "black": 0, "gofmt": 0, "gofumpt": 0,
	"golangci-lint": 0, "rustfmt": 0, "mkdir": 0, "touch": 0,
}

// deeper are subcommands whose next word determines what they do.
var deeper = map[string]bool{
	"npm run": true, "npm run-script": true, "pnpm run": true, "yarn run": true, "bun run": true,
	"git stash": true, "git remote": true, "git worktree": true, "go mod": true, "uv pip": true, "composer run": true,
}

// runners are subcommands that run another program, immediately or later.
var runners = map[string]bool{
	"git bisect": true, "git config": true, "git filter-branch": true, "git submodule": true, "git rebase": true, "go run": true, "go tool": true,
	"npm exec": true, "npm x": true, "npm config": true, "pnpm exec": true, "pnpm dlx": true, "yarn exec": true, "yarn dlx": true, "yarn node": true,
	"bun x": true, "bun exec": true, "uv run": true, "uv tool": true, "poetry run": true, "bundle exec": true, "composer exec": true,
	"dotnet exec": true, "kubectl exec": true, "kubectl run": true, "kubectl debug": true, "gh api": true, "gh alias": true, "gh extension": true,
	"swift repl": true,
}

// commandPrefix returns the prefix of a command for a wider scope: the program with its subcommand.
// It returns false unless the parser understands the line. Besides harmless commands, the line may
// run only one plain command, whose program is known to run no other program.
func commandPrefix(r policy.Request, home string) (string, bool) {
	reading := shellparse.Parse(r.Resource, &shellparse.Options{Dir: r.Cwd, Home: home})
	if !reading.Static() {
		return "", false
	}
	var the *shellparse.Command
	for i := range reading.Commands {
		c := &reading.Commands[i]
		if len(c.Assigns) > 0 || len(c.Wrappers) > 0 || c.Wrapper || redirects(c) {
			return "", false
		}
		if c.Safe {
			continue
		}
		if the != nil {
			return "", false
		}
		the = c
	}
	if the == nil || the.Program != the.Name {
		return "", false
	}
	return withSubcommand(the)
}

// withSubcommand returns the program's name with its subcommand.
func withSubcommand(c *shellparse.Command) (string, bool) {
	left, known := subcommands[c.Name]
	if !known {
		return "", false
	}
	words := []string{c.Name}
	for ; left > 0; left-- {
		if len(words) > len(c.Args) || !isWord(c.Args[len(words)-1]) {
			return "", false
		}
		words = append(words, c.Args[len(words)-1].Text)
		switch so := strings.Join(words, " "); {
		case runners[so]:
			return "", false
		case deeper[so]:
			left++
		}
	}
	return strings.Join(words, " "), true
}

// redirects reports whether a command writes a file through a redirect. A rule for the command does
// not cover that write.
func redirects(c *shellparse.Command) bool {
	for _, p := range c.Paths {
		if p.Source == shellparse.FromRedirect && p.Access&shellparse.Write != 0 && p.Path != "/dev/null" {
			return true
		}
	}
	return false
}

// isWord reports whether an argument is a plain word, as the names of subcommands are.
func isWord(a shellparse.Arg) bool {
	return a.Static && isASCIIWord(a.Text, "-_:.") && !strings.HasPrefix(a.Text, "-") && !strings.HasPrefix(a.Text, ".") && !strings.HasSuffix(a.Text, ":")
}
