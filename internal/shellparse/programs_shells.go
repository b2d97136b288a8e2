package shellparse

import "strings"

// shellRows are the shells. [call.shell] parses their options, because "-c" can be at any position
// in a group of short options, and its line is the first operand.
const shellRows = `
bash,rbash | early =shell | -* | -abefhiklmnprtuvxBCDEHPT -c -s -O: -o: --rcfile/--init-file:x --login --norc --noprofile --posix --restricted --verbose --noediting --debugger --dump-strings --dump-po-strings --pretty-print
sh,dash,ash,ksh,ksh93,mksh,lksh,oksh,pdksh,yash,posh,hush,osh,loksh | early =shell | -* | -abefhiklmnprtuvxCDEGXV -c -s -o: -R:x --login --posix --rcfile:x --profile:x --norcfile --noprofile
zsh,rzsh | early =shell | -* | -abefhiklmnprtuvwxyBCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -c -s -o: --login --no-rcs --no-globalrcs --emulate: --interactive
fish | early =shell | -* | -c/--command:l -C/--init-command:l -d/--debug: -o/--debug-output:w -D: -i/--interactive -l/--login -N/--no-config -n/--no-execute -p/--profile:w -P/--private -f/--features: --profile-startup:w -h~ -v~ --print-rusage-self --print-debug-categories~
tcsh,csh | early =shell | -* | -c -b -d -D: -e -f -i -l -m -n -q -s -t -v -V -x -X
nu | early =shell | -* | -c/--commands:l -e/--execute:l -l/--login -i/--interactive -n/--no-config-file --stdin --config:x --env-config:x -m/--table-mode: --no-std-lib --no-history --no-newline --log-level: --plugins:x -I/--include-path:r
pwsh,powershell | once early =shell | -* | -c/-Command/-command:l -f/-File/-file:x -NoProfile/-noprofile/-nop -NonInteractive/-noninteractive/-noni -NoLogo/-nologo -ExecutionPolicy/-executionpolicy/-ep/-ex: -EncodedCommand/-encodedcommand/-enc/-ec/-e:u
 -Login/-l -NoExit/-noexit -WorkingDirectory/-wd/-wo:d -OutputFormat/-of/-o: -InputFormat/-if: -Sta -Mta -Version~ -CommandWithArgs/-cwa:l -SettingsFile:r
elvish,xonsh,ion,oil,murex | early =shell | -* | -c -i -norc --no-rc
`

// shell: with -c, the first operand is a command line. Without -c, it is a file of commands;
// without operands, the commands come from standard input.
func (c *call) shell() {
	c.handled = true
	for i := range c.given {
		g := &c.given[i]
		switch {
		case g.role == roleLine && g.name == "-c" && c.prog.marks.once:
			// pwsh uses all words that follow as the line
		case g.has && g.role != roleData:
			c.applyRole(g.value, g.arg, g.role)
		}
	}
	via := c.inv.name
	if c.only {
		c.out.safe = len(c.out.runs) == 0 && c.out.unclear == "" && c.out.opaque == "" && !c.out.changesFiles()
		return
	}
	if c.unknown != "" {
		c.out.unclear = "unknown flag " + c.unknown + " of " + via + ": cannot determine what it runs"
	}
	if c.unclear {
		c.shellVague()
	}
	_, has := c.value("-c")
	switch {
	case has && c.prog.options["-c"].role == roleLine:
		if c.prog.marks.once {
			c.runLine(c.following("-c"), via+" -c", c.inv.in)
		}
		c.out.wrapper = len(c.out.runs) == 1
	case has && len(c.remaining) == 0:
	case has:
		c.runLine(c.remaining[0], via+" -c", c.inv.in)
		if c.out.wrapper = len(c.out.runs) > 0; c.out.wrapper {
			c.out.runs[0].args = append([]word{}, c.remaining[1:]...)
		}
	case len(c.remaining) > 0 && !c.has("-s"):
		c.script()
	default:
		c.shellReads(via)
		c.out.wrapper = len(c.out.runs) > 0
	}
	c.out.safe = c.out.wrapper && c.out.unclear == "" && c.out.opaque == "" && len(c.out.paths) == 0 && !c.has("-i") && !c.has("-l") && !c.has("--login")
}

// shellVague marks the command as unclear if an unknown word before the line or the script may be an option.
func (c *call) shellVague() {
	for _, w := range c.args {
		if len(c.remaining) > 0 && w == c.remaining[0] && w.static {
			return
		}
		if mayBeOption(w) || maySplit(w) {
			c.out.unclear = "cannot determine what " + c.inv.name + " runs"
			return
		}
	}
}

// following returns the words from the value of an option to the end, joined.
func (c *call) following(name string) word {
	for i, w := range c.args {
		if o := c.prog.options[strings.ToLower(w.text)]; w.static && o != nil && o.name == name {
			return joined(c.args[i+1:])
		}
	}
	w, _ := c.value(name)
	return w
}

func (c *call) script() {
	w := c.remaining[0]
	if namesStdin(w) {
		c.shellReads(c.inv.name)
		return
	}
	if !w.static || openFileNumber(w.text) != "" {
		c.out.unclear = "cannot determine the file of commands that " + c.inv.name + " runs"
		return
	}
	c.applyRole(w, w.text, roleCode)
}
