// The entry: styles, the theme before anything is drawn, then the app.
import { mount } from 'svelte';
import './styles/theme.css';
import './styles/base.css';
import './styles/menu.css';
import App from './App.svelte';
import { preferences } from './lib/app/preferences.svelte';

preferences.start();

const target = document.getElementById('app');
if (!target) throw new Error('The page has no element "app".');
mount(App, { target });
