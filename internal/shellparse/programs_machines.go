package shellparse

import "strings"

// machineRows are programs that run a command in another environment: a container, a virtual machine, a
// cluster, a package environment.
const machineRows = `
lxc,incus | alters | @ | --project: -q/--quiet -v/--verbose --debug --force-local
lxc exec,incus exec | wrapper late | - c | --cwd: --env: --user: --group: -t/--force-interactive -T/--force-noninteractive -n/--disable-stdin --mode: --project:
lxc list,lxc info,incus list,incus info | safe | -* | --format: -c: --fast --columns: -f:
lxc-attach,lxc-execute | wrapper | c | -n/--name: -P/--lxcpath: -f/--rcfile:r -e? -s: -a: -R -v: --set-var: --clear-env --keep-env -u/--uid: -g/--gid: -l/--logpriority: -o/--logfile:w -q/--quiet
vagrant | runs | @ | --color --no-color --machine-readable
vagrant ssh,vagrant winrm | runs =behind | -* | -c/--command:l -p/--plain -t/--tty -e/--elevated -s/--shell:
multipass,limactl,colima,orb,orbctl | alters | @ | -v --debug --profile/-p: --log-level: --tty?
multipass exec,limactl shell,colima ssh | wrapper late | - c | -d/--working-directory: -n/--no-map-working-directory --workdir: --shell: --tty? --preserve-env
colima ssh | runs =behind | -* | -p/--profile:
multipass list,multipass info,limactl list,colima status,colima list | safe | -* | --format: -f: --json -q
lima | wrapper | c | --
wsl | =wsl | -* | --
machinectl | alters | @ | -H/--host: -M/--machine: --no-pager --no-legend -l -q -p: -a
machinectl shell | wrapper late | - c | --uid: -E/--setenv: -q/--quiet
machinectl list,machinectl status,machinectl show,machinectl list-images | safe any | -* | -a -p: -l
podman machine ssh | wrapper =machinessh | -* | --username:
distrobox,toolbox,distrobox-enter,apx | =behindexec | -* | --
distrobox-enter | runs =behind | -* | -n/--name: -T -e
toolbox run | wrapper | c | -c/--container: -d/--distro: -r/--release: --preserve-fds:
toolbox | alters | @ | --
crictl exec,ctr exec,runc exec,crun exec,runsc exec,youki exec | wrapper late | - c | -itds -e/--env: -u/--user: -p/--process:r --cwd: --pid-file:w --tty --detach --timeout: --exec-id: --sync --console-socket: --additional-gids: --cap: --no-new-privs --apparmor:
crictl,runc,crun,runsc,youki | alters | @ | -r: -i: -c/--config: --root: --log: --log-format: --debug --systemd-cgroup --timeout:
crictl ps,crictl images,crictl logs,crictl inspect,runc list,runc state,crun list | safe any | -* | -a -q -o: -f
ctr | =behindexec | -* | --
singularity,apptainer | runs | @ | -d -q -s -v -c:
singularity exec,apptainer exec | wrapper late any | r c | -B/--bind: -C/--containall -H/--home: -W/--workdir: -c/--contain -e/--cleanenv -f/--fakeroot -n -p -u -w/--writable --nv --rocm --env: --env-file:r --pwd: --overlay: -S:
srun,salloc,mpirun,mpiexec,orterun,prterun,aprun,jsrun,ibrun | wrapper any once | c | -n: -N: -c: -p: -t: -J: -w: -A: -o:w -e:w -D:d -np: -H: --host: --hostfile/-hostfile:r -x: --map-by: --bind-to: --oversubscribe --allow-run-as-root --pty -G: -q: -l -u -Q -v
sbatch | =sbatch | -* | --
qsub,bsub,condor_run,qrsh,qlogin | wrapper once | c | -b: -N: -q: -l: -o:w -e:w -pe:2 -cwd -V -S: -wd:d -n: -J: -W: -R: -P: -I -Is -K -M: -m: -t: -sync: -j: -terse
gcloud compute ssh,gcloud alpha compute ssh | runs =behind | -* | --command:l --zone: --project: --tunnel-through-iap --ssh-flag: --ssh-key-file:r --internal-ip --quiet --dry-run
heroku,railway,vercel,netlify,teller,scalingo,dokku,eb,bosh,chamber | =behindexec | -* | --
heroku status,heroku logs,railway status | safe any | -* | -a: -t
chamber exec | wrapper late | - c | -b: -r: --pristine --strict
summon,envconsul,vault-env,berglas,secrethub | wrapper any once | c | -f:r -D: -e: -i -p/-prefix: -secret/-S: -upcase/-U -once/-O -config/-C:r -consul-addr/-A: -pristine/-P -exec/-X:l
consul | alters | @ | --
consul exec | runs late once | c | -node: -service: -tag: -datacenter: -wait: -verbose -shell
consul lock | runs late once | - c | -n: -name: -try: -verbose -pass-stdin -monitor-retry: -child-exit-code -token:
consul watch | runs late once | c | -type: -key: -prefix: -service: -tag: -node: -name: -shell
guix | alters | @ | --
guix shell,guix environment | runs any =behind | -* | -D -C -N -F -P -m/--manifest:x -f/--file:x -e:x -l:x -L:R -p:r -E: --ad-hoc --pure --container --expose: --share:
guix time-machine | runs any =behind | -* | -C/--channels:x --commit: --url: -q
guix package,guix install | alters any | s* | -i -r -u -l -f:x -m:x -p:w -L:R -e:x
devbox,flox,devenv | runs | @ | -q -v -d:d -c:d
devbox run,devenv shell,flox activate | runs late | c | -c/--config/-d/--dir:d -e/--env: -q/--quiet --pure --env-file:r -r/--remote: --start-services
devbox list,devbox version,flox list | safe | -* | --
rvm,nvm,fnm,n,volta,vfox,proto,sdk,chruby-exec,phpbrew | =behindexec | -* | --
chruby-exec | wrapper =behind | -* | --
`

// afterDoubleDash: the words after "--" are a command.
func (c *call) afterDoubleDash() {
	for i, w := range c.args {
		if !w.static {
			if maySplit(w) {
				c.out.unclear = "cannot determine what " + c.via + " runs"
			}
			continue
		}
		if w.text != "--" {
			continue
		}
		argv := c.args[i+1:]
		if c.prog.name == "guix time-machine" {
			argv = append([]word{{text: "guix", static: true}}, argv...)
		}
		if n := len(argv); n > 0 {
			c.out.runs = append(c.out.runs, run{via: c.via, argv: argv, in: c.inv.in})
			c.remaining = c.remaining[:max(0, len(c.remaining)-n)]
		}
		return
	}
}

// afterExecWord: a command follows "--", or a word such as exec.
func (c *call) afterExecWord() {
	c.handled = true
	c.afterDoubleDash()
	if len(c.out.runs) == 0 {
		c.afterExec("exec run do enter shell dev:exec")
	}
	c.guess()
	c.opaque(c.prog.name + " has effects that the command line does not show")
}

// afterExec runs the words after exec or a similar word. Options may come between them, and one
// more word that names the machine or container.
func (c *call) afterExec(verbs string) {
	for i, w := range c.args {
		if !w.static || !contains(verbs, w.text) {
			continue
		}
		rest := c.args[i+1:]
		for n := 0; n < 3 && len(rest) > 0; {
			if !strings.HasPrefix(rest[0].text, "-") {
				n++
				c.out.runs = append(c.out.runs, run{via: c.via + " " + w.text, argv: rest, in: c.inv.in})
			}
			rest = rest[1:]
		}
		return
	}
}

// wsl runs its operands, or the words after -e, --exec or --.
func (c *call) wsl() {
	c.handled = true
	c.opaque("runs in another system")
	for i := 0; i < len(c.args); i++ {
		switch w := c.args[i]; {
		case !w.static:
			c.out.unclear = "cannot determine what wsl runs"
			return
		case contains("-d --distribution -u --user --cd --shell-type", w.text):
			i++
		case contains("-e --exec --", w.text):
			c.runCommand(c.args[i+1:])
			return
		case contains("-l --list --status --shutdown --version --update -v --verbose --install --import --export --set-default -s --system ~", w.text):
		default:
			c.runLine(joined(c.args[i:]), "wsl", c.inv.in)
			return
		}
	}
}

// machineSSH takes an optional machine, followed by a command line for that machine.
func (c *call) machineSSH() {
	c.handled = true
	if len(c.remaining) > 0 {
		c.runLine(joined(c.remaining), c.via, c.inv.in)
	}
	if len(c.remaining) > 1 {
		c.runLine(joined(c.remaining[1:]), c.via, c.inv.in)
	}
}

// batch is sbatch: a line in --wrap, or a script.
func (c *call) batch() {
	c.handled = true
	c.opaque("runs commands later")
	for i, w := range c.args {
		name, value, eq := strings.Cut(w.text, "=")
		if name != "--wrap" {
			continue
		}
		line := word{text: value, static: w.static}
		if !eq && i+1 < len(c.args) {
			line = c.args[i+1]
		}
		c.runLine(line, "sbatch --wrap", stdin{})
		return
	}
	if c.inv.in.kind != stdinNone {
		c.shellReads("sbatch")
	}
	c.guess()
}
