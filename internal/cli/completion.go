package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCmd is `holdfast completion`.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (c *completionCmd) run(_ context.Context, p *Program) error {
	k, err := p.parser(&grammar{})
	if err != nil {
		return err
	}
	words := completionWords(k.Model.Node, "")
	switch c.Shell {
	case "bash":
		p.out.Text(bashCompletion(words))
	case "zsh":
		p.out.Text(zshCompletion(words))
	case "fish":
		p.out.Text(fishCompletion(words))
	}
	return nil
}

// completed is what can follow one chain of commands.
type completed struct {
	path     string   // "sessions list", or "" for the program
	also     []string // "sessions ls"
	commands []*kong.Node
	flags    []*kong.Flag
	values   []string // of the first positional argument
	slugs    bool     // it is a workspace
}

// slugsCommand prints what a workspace is completed to.
const slugsCommand = "holdfast workspace list --names 2>/dev/null"

func isSlug(f *kong.Flag) bool { return f.PlaceHolder == "SLUG" }

// bothNames is what stands before a flag's value, as a pattern of a shell.
func bothNames(path string, f *kong.Flag) string {
	at := zshQuote(path + ":--" + f.Name)
	if f.Short != 0 {
		at += "|" + zshQuote(path+":-"+string(f.Short))
	}
	return at
}

// patterns are the names of a chain of commands, as the cases of a shell.
func patterns(c completed, between string) string {
	list := []string{zshQuote(c.path)}
	for _, p := range c.also {
		list = append(list, zshQuote(p))
	}
	return strings.Join(list, between)
}

// completionWords walks the grammar, commands before their subcommands.
func completionWords(n *kong.Node, path string) []completed {
	c := completed{path: path}
	if above, _, _ := strings.Cut(path, " "+n.Name); n.Type == kong.CommandNode {
		for _, alias := range n.Aliases {
			c.also = append(c.also, above+" "+alias)
		}
	}
	for _, f := range n.Flags {
		if !f.Hidden {
			c.flags = append(c.flags, f)
		}
	}
	for _, a := range n.Positional {
		if a.Enum != "" {
			c.values = a.EnumSlice()
		}
		c.slugs = c.slugs || a.Name == "slug"
	}
	all := []completed{}
	for _, child := range n.Children {
		if child.Hidden {
			continue
		}
		c.commands = append(c.commands, child)
		all = append(all, completionWords(child, strings.TrimSpace(path+" "+child.Name))...)
	}
	return append([]completed{c}, all...)
}

// kind says how a flag's value is completed.
func flagValues(f *kong.Flag) (words []string, files bool) {
	switch {
	case f.Enum != "":
		for _, w := range f.EnumSlice() {
			if w != "" {
				words = append(words, w)
			}
		}
	case f.Name == "permission-mode":
		words = modeNames()
	case strings.HasPrefix(f.PlaceHolder, "FILE") || f.PlaceHolder == "FOLDER" || f.PlaceHolder == "URL":
		files = true
	}
	return words, files
}

func bashCompletion(all []completed) string {
	var b strings.Builder
	b.WriteString(`# bash completion for holdfast: source <(holdfast completion bash)
_holdfast() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev="" path="" word i
	((COMP_CWORD > 0)) && prev=${COMP_WORDS[COMP_CWORD-1]}
	[[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}
	[[ $cur == = ]] && cur=""
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		case "${path:+$path }$word" in
`)
	for _, c := range all {
		if c.path != "" {
			fmt.Fprintf(&b, "\t\t%s) path=%q ;;\n", patterns(c, "|"), c.path)
		}
	}
	b.WriteString("\t\tesac\n\tdone\n\tcase \"$path:$prev\" in\n")
	for _, c := range all {
		for _, f := range c.flags {
			words, files := flagValues(f)
			var does string
			switch {
			case isSlug(f):
				does = fmt.Sprintf("COMPREPLY=($(compgen -W \"$(%s)\" -- \"$cur\"))", slugsCommand)
			case len(words) > 0:
				does = fmt.Sprintf("COMPREPLY=($(compgen -W %q -- \"$cur\"))", strings.Join(words, " "))
			case files:
				does = "COMPREPLY=($(compgen -f -- \"$cur\"))"
			case f.IsBool():
				continue
			default: // nobody knows
				does = "compopt +o default 2>/dev/null || :"
			}
			fmt.Fprintf(&b, "\t%s) %s; return ;;\n", bothNames(c.path, f), does)
		}
	}
	b.WriteString("\tesac\n\tcase \"$path\" in\n")
	for _, c := range all {
		words := append([]string{}, c.values...)
		for _, n := range c.commands {
			words = append(words, n.Name)
		}
		for _, f := range c.flags {
			words = append(words, "--"+f.Name)
		}
		more := ""
		if c.slugs {
			more = "$(" + slugsCommand + ") "
		}
		fmt.Fprintf(&b, "\t%q) COMPREPLY=($(compgen -W \"%s%s\" -- \"$cur\")) ;;\n", c.path, more, strings.Join(words, " "))
	}
	b.WriteString("\tesac\n}\ncomplete -o default -F _holdfast holdfast\n")
	return b.String()
}

func zshCompletion(all []completed) string {
	var b strings.Builder
	b.WriteString(`#compdef holdfast
# zsh completion for holdfast: holdfast completion zsh > "${fpath[1]}/_holdfast"
_holdfast() {
	local path="" i
	local -a commands flags
	for ((i = 2; i < CURRENT; i++)); do
		case "${path:+$path }${words[i]}" in
`)
	for _, c := range all {
		if c.path != "" {
			fmt.Fprintf(&b, "\t\t%s) path=%s ;;\n", patterns(c, "|"), zshQuote(c.path))
		}
	}
	b.WriteString("\t\tesac\n\tdone\n\tcase \"$path:${words[CURRENT-1]}\" in\n")
	for _, c := range all {
		for _, f := range c.flags {
			words, files := flagValues(f)
			at := zshQuote(c.path + ":--" + f.Name)
			switch {
			case isSlug(f):
				fmt.Fprintf(&b, "\t%s) compadd -- $(%s); return ;;\n", bothNames(c.path, f), slugsCommand)
			case len(words) > 0:
				fmt.Fprintf(&b, "\t%s) compadd -- %s; return ;;\n", at, strings.Join(words, " "))
			case files:
				fmt.Fprintf(&b, "\t%s) _files; return ;;\n", at)
			}
		}
	}
	b.WriteString("\tesac\n\tcase \"$path\" in\n")
	for _, c := range all {
		fmt.Fprintf(&b, "\t%s)\n\t\tcommands=(", zshQuote(c.path))
		for _, n := range c.commands {
			fmt.Fprintf(&b, "\n\t\t\t%s", zshQuote(n.Name+":"+n.Help))
		}
		for _, v := range c.values {
			fmt.Fprintf(&b, " %s", v)
		}
		if c.slugs {
			fmt.Fprintf(&b, " $(%s)", slugsCommand)
		}
		b.WriteString(")\n\t\tflags=(")
		for _, f := range c.flags {
			fmt.Fprintf(&b, "\n\t\t\t%s", zshQuote("--"+f.Name+":"+f.Help))
		}
		b.WriteString(")\n\t\t;;\n")
	}
	b.WriteString("\tesac\n\t_describe command commands\n\t_describe flag flags\n\t_files\n}\n" +
		"if [ \"$funcstack[1]\" = _holdfast ]; then _holdfast \"$@\"; else compdef _holdfast holdfast; fi\n")
	return b.String()
}

func zshQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func fishCompletion(all []completed) string {
	var b strings.Builder
	b.WriteString(`# fish completion for holdfast: holdfast completion fish | source
function __holdfast_path
	set -l path
	for word in (commandline -opc)[2..-1]
		switch (string join ' ' $path $word)
`)
	for _, c := range all {
		if c.path != "" {
			fmt.Fprintf(&b, "\t\tcase %s\n\t\t\tset path %s\n", patterns(c, " "), c.path)
		}
	}
	b.WriteString("\t\tend\n\tend\n\tstring join ' ' -- $path\nend\nfunction __holdfast_at\n\ttest (__holdfast_path | string collect) = \"$argv\"\nend\n")
	for _, c := range all {
		at := fishQuote("__holdfast_at " + c.path)
		for _, n := range c.commands {
			fmt.Fprintf(&b, "complete -c holdfast -f -n %s -a %s -d %s\n", at, n.Name, fishQuote(n.Help))
		}
		for _, v := range c.values {
			fmt.Fprintf(&b, "complete -c holdfast -f -n %s -a %s\n", at, v)
		}
		if c.slugs {
			fmt.Fprintf(&b, "complete -c holdfast -f -n %s -a '(%s)'\n", at, slugsCommand)
		}
		for _, f := range c.flags {
			fmt.Fprintf(&b, "complete -c holdfast -n %s -l %s", at, f.Name)
			if f.Short != 0 {
				fmt.Fprintf(&b, " -s %c", f.Short)
			}
			words, files := flagValues(f)
			switch {
			case isSlug(f):
				fmt.Fprintf(&b, " -x -a '(%s)'", slugsCommand)
			case len(words) > 0:
				fmt.Fprintf(&b, " -x -a %s", fishQuote(strings.Join(words, " ")))
			case files:
				b.WriteString(" -r -F")
			case !f.IsBool():
				b.WriteString(" -x")
			}
			fmt.Fprintf(&b, " -d %s\n", fishQuote(f.Help))
		}
	}
	return b.String()
}

func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
