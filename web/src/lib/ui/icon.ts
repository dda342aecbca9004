// The type of an icon, so that pages can pass icons to the kit.
export type { LucideIcon as Icon } from '@lucide/svelte';
