//! The fences of an engine: resolved for each plan, made once, and joined by every keeper of a command inside.
//!
//! A fence has directories of its own on disk, for temporary files and for what commands write to caches. A lock belongs to them:
//! two programs never use the same ones, because the kernel does not allow two overlays on one directory. Keepers hold the lock,
//! too, so that a job that outlives its engine keeps its files.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bashful_egress::{self as egress, Connection, Observer, Rules};
use bashful_fence::{Denial, Fence, FencePolicy, Kind, Layer, Look, Mode, Network, Place};
use bashful_keeper::protocol::{self, FenceLayer, FenceOrder, LayerKind, Order, Report};
use bashful_sys::boot_time;
use rustix::fs::{CWD, FileType, FlockOperation, Mode as FileMode, OFlags, ResolveFlags, flock, fstat, openat2};
use rustix::io::Errno;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::backend::StartError;
use crate::connection;
use crate::environment::Environment;
use crate::fixed_name::FixedName;
use crate::local::{IdleKeeper, Starter};
use crate::plan::PlanError;

/// The sandbox of an engine's commands.
#[derive(Debug, Clone)]
pub struct SandboxOptions {
    /// The policy for commands that ask for no other.
    pub policy: FencePolicy,
    /// The directory that is the workspace; that of the engine's commands if none.
    pub workspace: Option<PathBuf>,
    /// Directory for the files of fences; without it, no fence can be made.
    pub store: Option<PathBuf>,
    /// Directories that commands inside cannot read, each with the parts that they can.
    pub own: Vec<(PathBuf, Vec<PathBuf>)>,
    /// Connections that the proxy refused.
    pub refused: Arc<RefusedConnections>,
}

/// Connections that a proxy refused lately.
#[derive(Debug, Default)]
pub struct RefusedConnections(Mutex<VecDeque<(Duration, String)>>);

/// Most refused connections that are remembered.
const REMEMBERED: usize = 64;

impl RefusedConnections {
    /// Sentences about connections that were refused since then (time since boot), each once.
    pub(crate) fn since(&self, then: Duration) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut told: Vec<String> = Vec::new();
        for (_, sentence) in all.iter().filter(|(at, _)| *at >= then) {
            if !told.contains(sentence) {
                told.push(sentence.clone());
            }
        }
        told
    }
}

impl Observer for RefusedConnections {
    fn ended(&self, connection: &Connection) {
        tracing::info!(%connection, milliseconds = connection.duration.as_millis(), "a connection of a sandbox");
        if matches!(connection.outcome, egress::Outcome::Relayed) {
            return;
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.truncate(REMEMBERED - 1);
        all.push_front((boot_time(), connection.to_string()));
    }
}

/// Port of the proxy inside of a fence.
const PROXY: u16 = 3128;

/// Variables that lead programs to the proxy.
pub(crate) fn proxy_variables(fence: &Fence) -> Vec<(String, String)> {
    if fence.network != Network::List {
        return Vec::new();
    }
    let http = format!("http://127.0.0.1:{PROXY}");
    let values = [
        ("HTTP_PROXY", http.clone()),
        ("HTTPS_PROXY", http),
        ("ALL_PROXY", format!("socks5h://127.0.0.1:{PROXY}")),
        ("NO_PROXY", "localhost,127.0.0.1,::1".to_owned()),
    ];
    values
        .into_iter()
        .flat_map(|(name, value)| [(name.to_owned(), value.clone()), (name.to_lowercase(), value)])
        .collect()
}

/// Sentences about what the fence denied a failed command, as its output tells.
pub(crate) fn denials_in(fence: &Fence, output: &str, directory: &Path) -> Vec<String> {
    let writable = || {
        let roots = fence.writable.iter().filter(|path| !path.ends_with(".git"));
        let all: Vec<String> = roots.map(|path| path.display().to_string()).chain(["/tmp".to_owned()]).collect();
        all.join(", ")
    };
    let sentence = |denial| match denial {
        Denial::Write(path) => {
            format!("changing {} is outside of the sandbox (writable: {})", path.display(), writable())
        }
        Denial::Read(path) => format!("the sandbox hides {}", path.display()),
        Denial::Network(Some(host)) => format!("the sandbox has no network: {host} cannot be reached"),
        Denial::Network(None) => "the sandbox has no network".to_owned(),
    };
    bashful_fence::denials(fence, output, directory).into_iter().map(sentence).collect()
}

/// Variables that name directories of caches.
const CACHE_VARIABLES: [&str; 5] = ["CARGO_HOME", "XDG_CACHE_HOME", "GOPATH", "GRADLE_USER_HOME", "npm_config_cache"];

/// Most fences that an engine keeps. One more belongs to a directory that moved, or to a call that asked for another mode.
const AT_MOST: usize = 16;

/// Directories of fences that nobody has used for so long are removed.
const UNUSED_FOR: Duration = Duration::from_hours(7 * 24);

impl SandboxOptions {
    /// Resolves the fence of a command of this workspace; none if it gets none.
    pub(crate) fn resolve(
        &self,
        mode: Option<Mode>,
        workspace: &Path,
        environment: &Environment,
    ) -> Result<Option<Arc<Fence>>, PlanError> {
        let mode = mode.unwrap_or(self.policy.mode);
        if mode == Mode::Off {
            return Ok(None);
        }
        for own in self.store.iter().chain(self.own.iter().flat_map(|(_, shown)| shown)) {
            // What appears later would not be hidden, or not be shown. The making of the fence names the error.
            let _ = crate::make_directory(own);
        }
        let variable = |name: &str| environment.variables.get(OsStr::new(name)).map(PathBuf::from);
        let absolute = |path: PathBuf| path.is_absolute().then_some(path);
        let place = Place {
            directory: self.workspace.as_deref().unwrap_or(workspace).to_path_buf(),
            home: variable("HOME").and_then(absolute),
            caches: CACHE_VARIABLES.iter().filter_map(|name| variable(name).and_then(absolute)).collect(),
            temporary: variable("TMPDIR").and_then(absolute).filter(|path| path.starts_with("/tmp")),
            own: self.own.clone(),
        };
        let policy = FencePolicy { mode, ..self.policy.clone() };
        Rules::parse(&policy.domains)?;
        Ok(bashful_fence::resolve(&policy, &place, &Disk)?.map(Arc::new))
    }
}

/// The file system of this machine.
struct Disk;

impl Look for Disk {
    fn real(&self, path: &Path) -> Option<(PathBuf, Kind)> {
        let kind = |mode| match FileType::from_raw_mode(mode) {
            FileType::Directory => Kind::Directory,
            _ => Kind::File,
        };
        // Some sixty paths are looked at for each command, and hardly one has a link.
        match openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, FileMode::empty(), ResolveFlags::NO_SYMLINKS) {
            Ok(file) if path.is_absolute() && !path.components().any(|part| part == Component::ParentDir) => {
                Some((path.to_path_buf(), kind(fstat(file).ok()?.st_mode)))
            }
            Err(Errno::NOENT | Errno::NOTDIR) => None,
            _ => {
                let real = path.canonicalize().ok()?;
                let mode = real.metadata().ok()?.mode();
                Some((real, kind(mode)))
            }
        }
    }

    fn read(&self, path: &Path) -> Option<String> {
        fs::read_to_string(path).ok()
    }
}

/// The fences that were made.
#[derive(Debug, Default)]
pub(crate) struct Fences {
    made: Mutex<Vec<(FenceKey, Arc<MadeFence>)>>,
    /// The directories of each workspace. A fence that replaces another one keeps its temporary files.
    places: Mutex<HashMap<PathBuf, Arc<FencePlace>>>,
    /// One is made at a time.
    making: tokio::sync::Mutex<()>,
}

/// A fence, and the directories that it means: a path may lead to another one by now.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FenceKey {
    fence: Arc<Fence>,
    roots: Vec<Option<(u64, u64)>>,
}

impl FenceKey {
    fn of(fence: &Arc<Fence>) -> Self {
        let identity = |path: &PathBuf| path.metadata().ok().map(|facts| (facts.dev(), facts.ino()));
        Self { fence: Arc::clone(fence), roots: fence.writable.iter().map(identity).collect() }
    }
}

/// The directories of the fences of a workspace.
#[derive(Debug)]
struct FencePlace {
    path: PathBuf,
    lock: OwnedFd,
}

/// Namespaces that are ready for commands.
#[derive(Debug)]
pub(crate) struct MadeFence {
    has_host_network: bool,
    handles: Vec<OwnedFd>,
    place: Arc<FencePlace>,
    /// The proxy and the forwarded ports, which end with it.
    _services: JoinSet<()>,
}

impl MadeFence {
    /// The order to go inside.
    pub(crate) fn order(&self) -> Order {
        Order::EnterFence { has_host_network: self.has_host_network, handles: Vec::new() }
    }

    /// The descriptors that belong to the order.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.handles.iter().chain([&self.place.lock]).map(AsFd::as_fd)
    }
}

impl Fences {
    /// Returns a fence, which is made if there is none.
    pub(crate) async fn get(
        &self,
        fence: &Arc<Fence>,
        options: &SandboxOptions,
        starter: &Starter,
    ) -> Result<Arc<MadeFence>, StartError> {
        let key = FenceKey::of(fence);
        if let Some(made) = self.find(&key) {
            return Ok(made);
        }
        let _making = self.making.lock().await;
        if let Some(made) = self.find(&key) {
            return Ok(made);
        }
        let place = self.place(fence, options.store.as_deref());
        let place = place.map_err(|source| StartError::FenceStore { source })?;
        let made = Arc::new(make(fence, place, options, starter).await?);
        let mut all = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((key, Arc::clone(&made)));
        let too_many = all.len().saturating_sub(AT_MOST);
        all.drain(..too_many);
        Ok(made)
    }

    /// The directories of the workspace of a fence.
    fn place(&self, fence: &Fence, store: Option<&Path>) -> io::Result<Arc<FencePlace>> {
        let store = store.ok_or_else(|| io::Error::other("set XDG_STATE_HOME or HOME"))?;
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = places.get(&fence.workspace).filter(|known| known.path.exists()) {
            return Ok(Arc::clone(known));
        }
        let taken = Arc::new(take_place(store, fence)?);
        places.insert(fence.workspace.clone(), Arc::clone(&taken));
        Ok(taken)
    }

    fn find(&self, key: &FenceKey) -> Option<Arc<MadeFence>> {
        let all = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().find(|(known, _)| known == key).map(|(_, made)| Arc::clone(made))
    }
}

/// Has a keeper make a fence.
async fn make(
    fence: &Fence,
    place: Arc<FencePlace>,
    options: &SandboxOptions,
    starter: &Starter,
) -> Result<MadeFence, StartError> {
    let unusable = |source: io::Error| StartError::FenceStore { source };
    let order = order(fence, &place.path).map_err(unusable)?;
    let has_host_network = order.has_host_network;
    let refused = |at: PathBuf, source| StartError::Fence { at, source };
    let IdleKeeper { socket, keeper } = starter.connect().map_err(|error| refused(PathBuf::new(), error))?;
    let mut link = connection::Connection::new(socket).map_err(unusable)?;
    link.expect_descriptors();
    link.send(&[&Order::MakeFence(order)], &[]).await.map_err(|_| StartError::KeeperGone)?;
    let report = link.next_awake().await;
    drop(keeper);
    match report {
        Ok(Report::FenceMade { errno: 0, .. }) => {
            let mut taken = std::iter::from_fn(|| link.take_descriptor());
            let handles: Vec<OwnedFd> = taken.by_ref().take(protocol::namespaces(has_host_network)).collect();
            let services = serve(fence, taken, options).map_err(unusable)?;
            Ok(MadeFence { has_host_network, handles, place, _services: services })
        }
        Ok(Report::FenceMade { errno, at }) => {
            Err(refused(PathBuf::from(OsStr::from_bytes(&at)), io::Error::from_raw_os_error(errno)))
        }
        _ => Err(StartError::KeeperGone),
    }
}

/// Answers on the sockets inside: the proxy, and ports of this machine.
fn serve(fence: &Fence, sockets: impl Iterator<Item = OwnedFd>, options: &SandboxOptions) -> io::Result<JoinSet<()>> {
    let rules = Arc::new(Rules::parse(&fence.domains).map_err(io::Error::other)?);
    let mut services = JoinSet::new();
    for (port, socket) in ports(fence).zip(sockets) {
        let listener = std::net::TcpListener::from(socket);
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        if port == PROXY && fence.network == Network::List {
            services.spawn(egress::serve(
                listener,
                Arc::clone(&rules),
                Arc::clone(&options.refused) as Arc<dyn Observer>,
            ));
        } else {
            services.spawn(egress::forward(listener, SocketAddr::from((Ipv4Addr::LOCALHOST, port))));
        }
    }
    Ok(services)
}

/// The ports inside that this program answers on.
fn ports(fence: &Fence) -> impl Iterator<Item = u16> {
    let proxy = (fence.network == Network::List).then_some(PROXY);
    proxy.into_iter().chain(fence.ports.iter().copied().filter(move |port| Some(*port) != proxy))
}

/// Takes directories for a fence: the first that no other program uses. Removes those that nobody has used for long.
fn take_place(store: &Path, fence: &Fence) -> io::Result<FencePlace> {
    crate::make_directory(store)?;
    remove_unused(store);
    let name = FixedName::new("fence").field(fence.workspace.as_os_str().as_bytes()).hex();
    for number in 0.. {
        let place = store.join(format!("{name}-{number}"));
        crate::make_directory(&place)?;
        let lock = File::options().create(true).append(true).open(place.join("lock"))?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            // The time of its last use.
            lock.set_modified(SystemTime::now())?;
            return Ok(FencePlace { path: place, lock: lock.into() });
        }
    }
    Err(io::ErrorKind::StorageFull.into())
}

fn remove_unused(store: &Path) {
    for place in fs::read_dir(store).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let Ok(lock) = File::open(place.join("lock")) else { continue };
        let age = lock.metadata().and_then(|facts| facts.modified()).ok().and_then(|used| used.elapsed().ok());
        if age.is_some_and(|age| age > UNUSED_FOR) && flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            // What cannot be removed is tried again next time.
            let _ = fs::remove_dir_all(&place);
        }
    }
}

/// The order for a fence with these directories, which are made.
fn order(fence: &Fence, place: &Path) -> io::Result<FenceOrder> {
    let make = |path: &Path, mode| fs::DirBuilder::new().recursive(true).mode(mode).create(path);
    let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
    let layer = |kind, at: &Path, from: &Path| FenceLayer { kind, at: bytes(at), from: bytes(from), shown: Vec::new() };
    let nothing = Path::new("");
    let layers = fence.layers.iter().map(|wanted| {
        Ok(match wanted {
            Layer::Writable(at) => layer(LayerKind::Writable, at, nothing),
            Layer::ReadOnly(at) => layer(LayerKind::ReadOnly, at, nothing),
            Layer::Empty(at) => layer(LayerKind::Empty, at, nothing),
            Layer::Made(at) => layer(LayerKind::Made, at, nothing),
            Layer::Private { at, name } => {
                let from = place.join(name);
                make(&from, 0o700)?;
                layer(LayerKind::Private, at, &from)
            }
            Layer::Overlay { at, name } => {
                let from = place.join("caches").join(name);
                make(&from.join("upper"), 0o700)?;
                make(&from.join("work"), 0o700)?;
                layer(LayerKind::Overlay, at, &from)
            }
            Layer::Hidden { at, is_directory, shown } => {
                let kind = if *is_directory { LayerKind::HiddenDirectory } else { LayerKind::HiddenFile };
                FenceLayer { shown: shown.iter().map(|path| bytes(path)).collect(), ..layer(kind, at, nothing) }
            }
        })
    });
    let layers = layers.collect::<io::Result<_>>()?;
    Ok(FenceOrder { has_host_network: fence.network == Network::On, ports: ports(fence).collect(), layers })
}
