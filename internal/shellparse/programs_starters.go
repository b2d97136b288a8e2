package shellparse

import (
	"slices"
	"strings"
)

// starterRows are programs that start other programs: watchers, secret managers, configuration
// tools, and programs with a command language that can start a shell.
const starterRows = `
xvfb-run | wrapper | c | -a/--auto-servernum -n/--server-num: -e/--error-file:w -f/--auth-file:r -l/--listen-tcp -p/--xauth-protocol: -s/--server-args: -w/--wait: -d/--auto-display
envchain | wrapper | - c | -s/--set~ -l/--list~ --unset~ -n/--noecho -p/--require-passphrase
daemonize | wrapper | c | -a -c:d -e:w -E: -l:w -o:w -p:w -u: -v
setuidgid,s6-setuidgid | wrapper | - c | --
multitime | wrapper | c | -b:x -f: -i:l -I: -l -n: -o: -q -r:l -s: -v
ifne | safe wrapper | c | -n
- | safe wrapper | c | --
pee | wrapper | l* | --ignore-sigpipe --no-ignore-sigpipe --ignore-write-errors --no-ignore-write-errors
mispipe | wrapper | l l | --
repeat | wrapper | - c | --
zargs | =zargs | -* | --
coreutils | wrapper =coreutils | c | --coreutils-prog:- --coreutils-prog-shebang:- --list~
sops | alters | @ | -d/--decrypt -e/--encrypt -i/--in-place -r --config:r --verbose
sops exec-env,sops exec-file | wrapper | r l | --background --no-fifo --user: --filename: --pristine --same-process --output-type: --input-type:
sops encrypt,sops decrypt,sops edit,sops rotate,sops updatekeys | alters any | m* | --output:w -i --in-place --extract: -y
cmd,command.com | =cmdexe | -* | --
ansible | =ansible | -* | -m/--module-name: -a/--args:i -i/--inventory:s -e/--extra-vars: -u/--user: -b/--become -K -k -f/--forks: -l/--limit: -C/--check -D/--diff -o/--one-line -t/--tree:W -v -vv -vvv --become-user: --become-method: --private-key:r -c/--connection: -M/--module-path:x -P: -B: --vault-password-file:x --playbook-dir:d -T: --list-hosts
puppet | alters | @ | --
puppet apply | any =code | -* | -e/--execute:i --noop --modulepath:R -v -d -t --logdest:w
salt,salt-call,salt-ssh | =salt | -* | --
fab,invoke,inv | runs any =behind | -* | -H: -i: -f:x -c:x -r:R -l -D
lerna,nx,turbo | runs | @ | --
lerna exec,nx exec,rush exec | runs late any | c | --scope: --ignore: --since? --concurrency: --stream --parallel --no-bail --no-prefix
tox,nox | runs =behindtox | -* | --
cargo watch | runs =behind | -* | -x/--exec: -s/--shell:l -w/--watch:R -i/--ignore: -c/--clear -q/--quiet -d/--delay: -C/--workdir:d -B: --use-shell: --why --no-vcs-ignores
cargo with | wrapper | l | --
when-changed | wrapper late | R c | -r -v -1 -s -c:l
watchman-make,watchman-wait | runs | -* | -p/--pattern: -t/--target: --run:l -r: --root:d --settle: --make:l
watchman | =behindexec | -* | --
onchange | wrapper =behind | -* | -i -k -p -v -1 -a -w -d: -j: -f: -e: -o: -c
fswatch-run,fswatch-run-bash | wrapper | R c | --
on_ac_power,lowpri,run-one-constantly,run-this-one,run-one-until-success,run-one-until-failure,keep-one-running,run-one,retry,cronic,choom,uclampset,coresched,schedtool,runcon,newrole,aa-exec,pasuspender,padsp,aoss,artsdsp,optirun,primusrun,prime-run,gamemoderun,mangohud,vglrun,tsp,nq,fq,uftrace,heaptrack,memusage,kcov,samply,poop,nixGL,steam-run,graftcp | wrapper any | c | -n: -c -t: -u: -g: -p: -s: -d: -k -f -v -q
ranger,lf,vifm,nnn,yazi,mutt,neomutt,lnav,weechat,irssi,newsboat,cmus-remote,qutebrowser,elinks,w3m,aerc,ncmpcpp,calcurse,mc,broot,xplr,joshuto,feh,sxiv,mpv,zathura | =keyed | s* | --
`

// starters handles the arguments of programs that start other programs in their own way.
func (c *call) starters() {
	switch c.prog.special {
	case "behind":
		c.afterDoubleDash()
	case "behindexec":
		c.afterExecWord()
	case "behindtox":
		if len(c.remaining) > 0 && c.remaining[0].text == "exec" {
			c.afterDoubleDash()
		}
	case "wsl":
		c.wsl()
	case "machinessh":
		c.machineSSH()
	case "sbatch":
		c.batch()
	case "zargs":
		c.zargs()
	case "coreutils":
		if len(c.args) > 0 {
			if _, program, ok := strings.Cut(c.args[0].text, "="); ok {
				argv := append([]word{{text: program, static: c.args[0].static}}, c.args[1:]...)
				c.handled, c.out.wrapper = true, true
				c.out.runs = append(c.out.runs, run{via: c.via, argv: argv, in: c.inv.in})
			}
		}
	case "cmdexe":
		c.cmdExe()
	case "ansible":
		c.ansible()
	case "salt":
		c.salt()
	case "keyed":
		c.keyed()
	default:
		panic("shellparse: the row of " + c.prog.name + " names the unknown special " + c.prog.special)
	}
}

// zargs: the command follows the last "--".
func (c *call) zargs() {
	c.handled = true
	for i, w := range slices.Backward(c.args) {
		if w.static && w.text == "--" {
			c.out.runs = append(c.out.runs, run{via: "zargs", argv: append(c.args[i+1:len(c.args):len(c.args)], word{text: "$input"})})
			c.out.wrapper = i+1 < len(c.args)
			return
		}
	}
	c.out.unclear = "cannot determine what zargs runs"
}

// cmdExe: the words after /c are a line.
func (c *call) cmdExe() {
	c.handled = true
	c.opaque("runs in the command prompt")
	for i, w := range c.args {
		if t := strings.ToLower(w.text); len(t) > 1 && t[0] == '/' && strings.IndexByte("ckr", t[1]) >= 0 {
			line := joined(c.args[i+1:])
			line.text = t[2:] + " " + line.text
			c.runLine(line, "cmd /c", c.inv.in)
			return
		}
	}
	if c.inv.in.kind != stdinNone {
		c.shellReads("cmd")
	}
}

// ansible runs a module on machines; the default module runs a command line.
func (c *call) ansible() {
	c.handled = true
	module, ok := c.value("-m")
	name := module.text[strings.LastIndexByte(module.text, '.')+1:]
	if args, has := c.value("-a"); has && (!ok || !module.static || contains("command shell raw script win_shell win_command expect", name)) {
		c.runLine(args, "ansible", stdin{})
	}
	c.opaque("acts on other machines")
}

// salt: the word after cmd.run and similar words is a command line.
func (c *call) salt() {
	c.handled = true
	for i, w := range c.args {
		if strings.HasPrefix(w.text, "cmd.") || w.text == "-r" || w.text == "--raw" {
			for _, line := range c.args[i+1:] {
				c.runLine(line, c.prog.name, stdin{})
			}
			break
		}
	}
	c.opaque("acts on other machines")
}

// keyed handles terminal programs with their own commands. Some of these commands start a shell.
func (c *call) keyed() {
	c.handled = true
	c.unknown = ""
	for i, w := range c.args {
		name, value, eq := strings.Cut(w.text, "=")
		code := word{text: value, static: w.static}
		switch {
		case strings.HasPrefix(w.text, ":") || w.text != "" && w.text[0] == '/' && strings.HasPrefix(w.text, "/exec"):
			code = w
		case !contains("-c -e -C -r -x -command --cmd --command --execute -eval --run-command", name):
			c.addPathLike(w, true)
			continue
		case !eq && i+1 < len(c.args):
			code = c.args[i+1]
		}
		c.keys(code)
	}
	c.opaque("starts a program for the terminal")
}

func (c *call) keys(w word) {
	if !w.static {
		c.out.unclear = "cannot determine the commands of " + c.prog.name
		return
	}
	text := strings.TrimLeft(w.text, ":/ ")
	for _, mark := range []string{"shell ", "exec ", "spawn ", "!", "$", "%", "&"} {
		if line, ok := strings.CutPrefix(text, mark); ok {
			c.codeLine(strings.TrimLeft(line, "-!$%& "), c.prog.name+" "+mark, false)
			return
		}
	}
	first, value, _ := strings.Cut(text, " ")
	switch {
	case contains("quit q exit wq ZZ help version", first):
	case c.prog.name == "lnav" && first != "" && !strings.ContainsAny(text, ";|"):
		c.codeLine(text, c.prog.name, false) // -e is a command of a shell
	default:
		_, value, _ = strings.Cut(value, "=")
		c.codeLine(strings.Trim(value, `"' `), c.prog.name, true)
	}
}
