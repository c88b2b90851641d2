/** Renderer, camera, light and ground: the room in which the mechanism stands. */

import * as THREE from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import { RoomEnvironment } from 'three/examples/jsm/environments/RoomEnvironment.js';

const stillness = matchMedia('(prefers-reduced-motion: reduce)');
export const dark = matchMedia('(prefers-color-scheme: dark)');

/** Lines of one and ten cells that fade with the distance; the widths are those of the screen. */
const gridVertex = /* glsl */ `
  varying vec3 place;
  void main() {
    vec4 world = modelMatrix * vec4(position, 1.0);
    place = world.xyz;
    gl_Position = projectionMatrix * viewMatrix * world;
  }`;
const gridFragment = /* glsl */ `
  uniform float cell;
  uniform float reach;
  uniform vec3 middle;
  uniform vec3 ink;
  varying vec3 place;
  float lines(float size, float width) {
    vec2 p = place.xz / size;
    vec2 d = max(fwidth(p), vec2(1e-6));
    vec2 g = abs(fract(p - 0.5) - 0.5) / d;
    float crowd = 1.0 - smoothstep(0.2, 0.6, max(d.x, d.y));
    return (1.0 - min(min(g.x, g.y) / width, 1.0)) * crowd;
  }
  void main() {
    float fade = 1.0 - smoothstep(0.15 * reach, reach, distance(place, middle));
    float a = max(0.13 * lines(cell, 1.0), 0.26 * lines(5.0 * cell, 1.2));
    gl_FragColor = vec4(ink, a * fade);
    #include <colorspace_fragment>
  }`;

export class Stage {
  readonly renderer: THREE.WebGLRenderer;
  readonly scene = new THREE.Scene();
  /** Everything in the scene file's coordinates; turned when z is up. */
  readonly root = new THREE.Group();
  /** The user's place in the room; in VR it is moved instead of the camera. */
  readonly rig = new THREE.Group();
  readonly camera = new THREE.PerspectiveCamera(38, 1, 0.01, 1000);
  readonly controls: OrbitControls;
  /** Called before each drawn frame; `xr` is the headset's frame. */
  readonly before: ((seconds: number, xr: XRFrame | null) => void)[] = [];
  /** Frames drawn, and those drawn for a headset. */
  drawn = 0;
  drawnXr = 0;

  private sun = new THREE.DirectionalLight(0xfff4e6, 2.4);
  private sky = new THREE.HemisphereLight(0xeaf2ff, 0xb9ad9c, 0.75);
  private grid: THREE.Mesh<THREE.PlaneGeometry, THREE.ShaderMaterial>;
  private floor: THREE.Mesh<THREE.PlaneGeometry, THREE.ShadowMaterial>;
  private dirty = true;
  /** Painted for the dark. */
  private night = false;
  private last = 0;
  private slow = 0;
  flight: { from: THREE.Vector3; to: THREE.Vector3; a: THREE.Vector3; b: THREE.Vector3; t: number } | null = null;
  /** Where the ground is, world y. */
  ground = 0;
  /** Pixels at the bottom that something lies over: what is new is shown above them. */
  inset: () => number = () => 0;
  /** The same at the top: it is shown below them. */
  insetTop: () => number = () => 0;
  /** Called before the view is reset: home may have moved. */
  refit: () => void = () => {};
  /** Called when home has moved. */
  onfit: () => void = () => {};
  private home = { center: new THREE.Vector3(), radius: 1 };
  /** The user has not chosen a view: a change of the window's shape may choose a better one. */
  private atHome = false;
  private direction = new THREE.Vector3(0.5, 0.32, 1).normalize();

  constructor(readonly canvas: HTMLCanvasElement) {
    const low = new URLSearchParams(location.search).get('quality') === 'low';
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: !low, powerPreference: 'high-performance' });
    this.renderer.shadowMap.enabled = !low;
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.renderer.toneMapping = THREE.NeutralToneMapping;
    this.renderer.toneMappingExposure = 1.0;
    this.renderer.setPixelRatio(low ? 1 : Math.min(devicePixelRatio, 2));
    this.renderer.xr.enabled = true;

    if (!low) {
      const pmrem = new THREE.PMREMGenerator(this.renderer);
      const room = new RoomEnvironment();
      this.scene.environment = pmrem.fromScene(room, 0.04).texture;
      this.scene.environmentIntensity = 0.45;
      pmrem.dispose();
    } else {
      this.sky.intensity = 1.6;
    }

    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.bias = -0.0004;
    this.sun.shadow.normalBias = 0.02;
    this.sun.shadow.radius = 5;
    this.floor = new THREE.Mesh(new THREE.PlaneGeometry(1, 1), new THREE.ShadowMaterial({ opacity: 0.22 }));
    this.floor.rotation.x = -Math.PI / 2;
    this.floor.receiveShadow = true;
    this.grid = new THREE.Mesh(
      new THREE.PlaneGeometry(1, 1),
      new THREE.ShaderMaterial({
        vertexShader: gridVertex,
        fragmentShader: gridFragment,
        transparent: true,
        depthWrite: false,
        uniforms: {
          cell: { value: 0.1 },
          reach: { value: 10 },
          middle: { value: new THREE.Vector3() },
          ink: { value: new THREE.Color() },
        },
      }),
    );
    this.grid.rotation.x = -Math.PI / 2;
    this.grid.renderOrder = -1;
    this.rig.add(this.camera);
    this.scene.add(this.root, this.rig, this.sun, this.sun.target, this.sky, this.floor, this.grid);
    this.paint();
    dark.addEventListener('change', () => this.paint());

    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = !stillness.matches;
    this.controls.dampingFactor = 0.12;
    this.controls.zoomToCursor = true;
    this.controls.addEventListener('change', () => this.invalidate());
    this.controls.addEventListener('start', () => {
      this.flight = null;
      this.atHome = false;
    });

    new ResizeObserver(() => this.resize()).observe(canvas.parentElement!);
    this.resize();
    this.renderer.setAnimationLoop((time, frame) => this.loop(time, frame ?? null));
  }

  /** Something changed: the next animation frame draws. */
  invalidate(): void {
    this.dirty = true;
  }

  private paint(): void {
    this.night = dark.matches;
    const [top, bottom] = dark.matches ? ['#2a313a', '#181c22'] : ['#f6f8fa', '#dde4ea'];
    const sheet = Object.assign(document.createElement('canvas'), { width: 2, height: 256 });
    const ink = sheet.getContext('2d')!;
    const fill = ink.createLinearGradient(0, 0, 0, 256);
    fill.addColorStop(0, top!);
    fill.addColorStop(1, bottom!);
    ink.fillStyle = fill;
    ink.fillRect(0, 0, 2, 256);
    const texture = new THREE.CanvasTexture(sheet);
    texture.colorSpace = THREE.SRGBColorSpace;
    this.scene.background = texture;
    this.grid.material.uniforms.ink!.value = new THREE.Color(dark.matches ? 0xb8c4d2 : 0x3c4856);
    this.floor.material.opacity = dark.matches ? 0.45 : 0.24;
    this.invalidate();
  }

  private resize(): void {
    const box = this.canvas.parentElement!.getBoundingClientRect();
    if (box.width < 1 || box.height < 1 || this.renderer.xr.isPresenting) return;
    this.renderer.setSize(box.width, box.height, false);
    this.camera.aspect = box.width / box.height;
    this.camera.updateProjectionMatrix();
    if (this.atHome) this.look(this.home.center, this.home.radius, true, this.direction);
    this.invalidate();
  }

  private loop(time: number, frame: XRFrame | null): void {
    // Not every browser tells of the change: the page would have one colour and the room the other.
    if (dark.matches !== this.night) this.paint();
    const dt = Math.min((time - this.last) / 1000, 0.1);
    this.fly(dt);
    if (!frame) this.controls.update(dt);
    for (const step of this.before) step(dt, frame);
    if (this.dirty || frame) {
      this.dirty = false;
      const start = performance.now();
      this.renderer.render(this.scene, this.camera);
      this.drawn++;
      if (frame) this.drawnXr++;
      this.watchSpeed(performance.now() - start, time - this.last);
    }
    this.last = time;
  }

  /** A machine that cannot keep up gets fewer pixels, then hard shadows at a lower rate: moving matters more. */
  private watchSpeed(_cpu: number, gap: number): void {
    this.slow = gap > 40 && gap < 500 ? this.slow + 1 : Math.max(0, this.slow - 1);
    if (this.slow < 30 || this.renderer.xr.isPresenting) return;
    this.slow = 0;
    if (this.renderer.getPixelRatio() > 1) {
      this.renderer.setPixelRatio(1);
      this.resize();
    } else if (this.sun.shadow.mapSize.x > 1024) {
      this.sun.shadow.mapSize.set(1024, 1024);
      this.sun.shadow.map?.dispose();
      this.sun.shadow.map = null;
    }
  }

  /** Fits light, ground and clipping to the mechanism, and looks at all of it if `look`. */
  fit(center: THREE.Vector3, radius: number, low: number, look: boolean, flat: THREE.Vector3): void {
    const r = Math.max(radius, 1e-4);
    this.home = { center: center.clone(), radius: r };
    this.camera.near = r / 300;
    this.camera.far = r * 300;
    this.camera.updateProjectionMatrix();
    this.controls.minDistance = r / 30;
    this.controls.maxDistance = r * 40;

    this.sun.position.copy(center).add(new THREE.Vector3(0.7, 1.6, 0.9).multiplyScalar(2.2 * r));
    this.sun.target.position.copy(center);
    const cam = this.sun.shadow.camera;
    const reach = 1.7 * r;
    [cam.left, cam.right, cam.bottom, cam.top] = [-reach, reach, -reach, reach];
    [cam.near, cam.far] = [r * 0.5, r * 9];
    cam.updateProjectionMatrix();
    this.sun.shadow.normalBias = r * 0.006;

    const ground = (this.ground = low);
    for (const mesh of [this.floor, this.grid]) {
      mesh.position.set(center.x, ground, center.z);
      mesh.scale.setScalar(40 * r);
    }
    this.grid.position.y = ground - 0.002 * r;
    // One, two or five of a power of ten, a few of them across the mechanism.
    const power = 10 ** Math.floor(Math.log10(r / 3));
    const cell = power * ([5, 2, 1].find((n) => n * power <= r / 3) ?? 1);
    this.grid.material.uniforms.cell!.value = cell;
    this.grid.material.uniforms.reach!.value = 9 * r;
    this.grid.material.uniforms.middle!.value = new THREE.Vector3(center.x, ground, center.z);
    // A flat mechanism is seen best from almost in front.
    const axis = flat.x < flat.z ? new THREE.Vector3(1, 0, 0.32) : new THREE.Vector3(0.38, 0, 1);
    const thin = Math.min(flat.x, flat.z) < 0.45 * Math.max(flat.x, flat.z);
    this.direction = (thin ? axis : new THREE.Vector3(0.62, 0, 1)).setY(thin ? 0.26 : 0.45).normalize();
    if (look) this.look(center, r, true, this.direction);
    this.atHome ||= look;
    this.onfit();
    this.invalidate();
  }

  /** Moves the eye so that a ball fills the view; at once if the user prefers stillness. */
  look(center: THREE.Vector3, radius: number, jump = false, direction?: THREE.Vector3): void {
    this.atHome = direction === this.direction;
    const high = Math.tan(THREE.MathUtils.degToRad(this.camera.fov) / 2);
    const across = Math.atan(high * this.camera.aspect);
    const covered = this.atHome ? Math.min(this.inset() / Math.max(1, this.canvas.clientHeight), 0.4) : 0;
    const above = this.atHome ? Math.min(this.insetTop() / Math.max(1, this.canvas.clientHeight), 0.4) : 0;
    const distance = (0.96 * radius) / Math.sin(Math.min(Math.atan(high * (1 - covered - above)), across));
    const out = direction?.clone() ?? this.camera.position.clone().sub(this.controls.target).normalize();
    // The middle of what is free lies above that of the picture; no higher than it has to.
    const half = (0.96 * radius) / (distance * high);
    const raise = THREE.MathUtils.clamp(half - 1 + 2 * covered, 0, covered) - THREE.MathUtils.clamp(half - 1 + 2 * above, 0, above);
    center = center.clone().addScaledVector(new THREE.Vector3(0, 1, 0).addScaledVector(out, -out.y).normalize(), -raise * distance * high);
    const to = center.clone().addScaledVector(out, distance);
    if (jump || stillness.matches) {
      this.flight = null;
      this.camera.position.copy(to);
      this.controls.target.copy(center);
      this.controls.update();
    } else {
      this.flight = { from: this.camera.position.clone(), to, a: this.controls.target.clone(), b: center.clone(), t: 0 };
    }
    this.invalidate();
  }

  resetView(): void {
    this.refit();
    this.glideHome();
  }

  /** Looks at everything from this side, and does so again when asked for everything. */
  face(direction: THREE.Vector3): void {
    this.direction = direction.clone().normalize();
    this.look(this.home.center, this.home.radius, true, this.direction);
  }

  /** Home is as near as this box allows: a ball around it would leave much of a flat scene's view empty. */
  tighten(box: THREE.Box3): void {
    const high = Math.tan(THREE.MathUtils.degToRad(this.camera.fov) / 2);
    const wide = high * this.camera.aspect;
    const eye = new THREE.Matrix4().lookAt(this.direction, new THREE.Vector3(), new THREE.Vector3(0, 1, 0));
    const [right, top] = [0, 1].map((k) => new THREE.Vector3().setFromMatrixColumn(eye, k)) as [THREE.Vector3, THREE.Vector3];
    let far = 0;
    for (const x of [box.min.x, box.max.x])
      for (const y of [box.min.y, box.max.y])
        for (const z of [box.min.z, box.max.z]) {
          const p = new THREE.Vector3(x, y, z).sub(this.home.center);
          far = Math.max(far, p.dot(this.direction) + 1.12 * Math.max(Math.abs(p.dot(right)) / wide, Math.abs(p.dot(top)) / high));
        }
    const radius = (far * Math.sin(Math.min(Math.atan(high), Math.atan(wide)))) / 0.96;
    this.home.radius = Math.min(this.home.radius, radius);
  }

  /** Something lies over other parts of the view now; a view that nobody has chosen makes room for it. */
  relook(): void {
    if (this.atHome) this.look(this.home.center, this.home.radius, true, this.direction);
  }

  /** Back to the view of everything. */
  glideHome(): void {
    this.look(this.home.center, this.home.radius, false, this.direction);
  }

  private fly(dt: number): void {
    const f = this.flight;
    if (!f) return;
    f.t = Math.min(1, f.t + dt / 0.45);
    const s = f.t * f.t * (3 - 2 * f.t);
    this.camera.position.lerpVectors(f.from, f.to, s);
    this.controls.target.lerpVectors(f.a, f.b, s);
    if (f.t === 1) this.flight = null;
    this.invalidate();
  }

  /** Nobody has chosen another view than the first. */
  get isHome(): boolean {
    return this.atHome;
  }

  /** Moves eye and target together; a flight that is under way is over. */
  shift(by: THREE.Vector3): void {
    this.flight = null;
    this.atHome = false;
    this.camera.position.add(by);
    this.controls.target.add(by);
    // Ground, light and shadows go along; the lines of the grid stay where they are.
    const level = by.clone().setY(0);
    for (const thing of [this.floor, this.grid, this.sun, this.sun.target]) thing.position.add(level);
    (this.grid.material.uniforms.middle!.value as THREE.Vector3).add(level);
    this.invalidate();
  }

  /** The ground goes down with what hangs or falls below it, where the scene has none of its own. */
  sink(low: number): void {
    if (!(low < this.ground - 1e-3 * this.radius)) return;
    const by = low - this.ground;
    this.ground = low;
    for (const thing of [this.floor, this.grid, this.sun, this.sun.target]) thing.position.y += by;
    (this.grid.material.uniforms.middle!.value as THREE.Vector3).y += by;
    this.invalidate();
  }

  get radius(): number {
    return this.home.radius;
  }

  get center(): THREE.Vector3 {
    return this.home.center;
  }

  /** From a point of the page to -1…1. */
  toClip(x: number, y: number): THREE.Vector2 {
    const box = this.canvas.getBoundingClientRect();
    return new THREE.Vector2(((x - box.left) / box.width) * 2 - 1, 1 - ((y - box.top) / box.height) * 2);
  }

  /** From the scene's coordinates to a point of the page; `null` behind the eye. */
  toPage(point: THREE.Vector3): { x: number; y: number } | null {
    const p = this.root.localToWorld(point.clone()).project(this.camera);
    if (p.z > 1) return null;
    const box = this.canvas.getBoundingClientRect();
    return { x: box.left + ((p.x + 1) / 2) * box.width, y: box.top + ((1 - p.y) / 2) * box.height };
  }

  /** The picture as it is now. */
  picture(): Promise<Blob | null> {
    this.renderer.render(this.scene, this.camera);
    return new Promise((resolve) => this.canvas.toBlob(resolve, 'image/png'));
  }
}
